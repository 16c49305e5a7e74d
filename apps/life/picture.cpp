// SPDX-License-Identifier: Apache-2.0
#include "picture.hpp"

#include <png.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace penstock::life {
namespace {

// The longer side of the picture has at least about this many pixels.
constexpr int wanted_pixels = 768;

int pixels_per_cell(const Grid& grid) {
  return std::max(1, wanted_pixels / std::max(grid.width(), grid.height()));
}

// One byte a pixel: 0 for dead, 1 for alive cells.
std::vector<png_byte> paint(const Grid& grid, int scale) {
  std::vector<png_byte> pixels;
  pixels.reserve(static_cast<std::size_t>(grid.width()) * static_cast<std::size_t>(grid.height()) *
                 static_cast<std::size_t>(scale) * static_cast<std::size_t>(scale));
  for (int y = 0; y < grid.height() * scale; ++y) {
    const std::uint8_t* row = grid.row(y / scale);
    for (int x = 0; x < grid.width() * scale; ++x) pixels.push_back(row[x / scale]);
  }
  return pixels;
}

}  // namespace

void write_png(const Grid& grid, const std::filesystem::path& path) {
  const int scale = pixels_per_cell(grid);
  const std::vector<png_byte> pixels = paint(grid, scale);
  // libpng's colour maps are 8-bit sRGB: a pale background, dark cells.
  const png_byte colours[2][3] = {{246, 244, 236}, {22, 60, 96}};
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(grid.width() * scale);
  image.height = static_cast<png_uint_32>(grid.height() * scale);
  image.format = PNG_FORMAT_RGB_COLORMAP;
  image.colormap_entries = 2;
  if (png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0, colours) == 0) {
    throw std::runtime_error("cannot write " + path.string() + ": " + image.message);
  }
}

}  // namespace penstock::life
