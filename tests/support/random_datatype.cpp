// SPDX-License-Identifier: Apache-2.0
#include "support/random_datatype.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace penstock::test {

namespace {

// A handle that frees its datatype.
class Type {
 public:
  explicit Type(MPI_Datatype basic) : handle_(basic), owned_(false) {}
  template <class Make>
  static Type made(Make make) {
    Type type(MPI_DATATYPE_NULL);
    if (make(&type.handle_) != MPI_SUCCESS) std::abort();
    type.owned_ = true;
    return type;
  }
  Type(Type&& other) noexcept
      : handle_(other.handle_), owned_(std::exchange(other.owned_, false)) {}
  Type& operator=(Type&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  ~Type() {
    if (owned_) MPI_Type_free(&handle_);
  }
  MPI_Datatype get() const { return handle_; }
  MPI_Datatype release() {
    owned_ = false;
    return handle_;
  }
  bool owned() const { return owned_; }

 private:
  MPI_Datatype handle_;
  bool owned_;
};

struct Bounds {
  MPI_Aint first = 0, end = 0;  // of the bytes that are sent
  MPI_Aint extent = 0;
};

Bounds bounds_of(MPI_Datatype type) {
  MPI_Aint low = 0;
  Bounds bounds;
  MPI_Type_get_extent(type, &low, &bounds.extent);
  MPI_Type_get_true_extent(type, &bounds.first, &bounds.end);
  bounds.end += bounds.first;
  return bounds;
}

class DatatypeMaker {
 public:
  explicit DatatypeMaker(RandomDatatypes& random) : random_(random) {}

  Type leaf(const std::vector<MPI_Datatype>& basics) {
    const std::size_t count = basics.size();
    if (count == 1) return Type(basics[0]);
    std::vector<int> lengths(count, 1);
    std::vector<MPI_Aint> places(count);
    MPI_Aint end = random_.from_to(-40, 40);
    for (const std::size_t i : any_order(count)) {
      int size = 0;
      MPI_Type_size(basics[i], &size);
      places[i] = end + (random_.below(2) == 0 ? 0 : random_.below(20));
      end = places[i] + size;
    }
    return wide(Type::made([&](MPI_Datatype* made) {
      return MPI_Type_create_struct(static_cast<int>(count), lengths.data(), places.data(),
                                    basics.data(), made);
    }));
  }

  Type make(MPI_Datatype leaf, int count, int depth) {
    if (depth == 0 || count == 1) return contiguous(Type(leaf), count);
    switch (random_.below(10)) {
      case 0: {
        Type part = make_part(leaf, count, depth);
        return contiguous(std::move(part), left_);
      }
      case 1:
      case 2:
        return vector(leaf, count, depth);
      case 3:
      case 4:
        return indexed(leaf, count, depth);
      case 5:
        return indexed_block(leaf, count, depth);
      case 6:
        return structure(leaf, count, depth);
      case 7:
        return subarray(leaf, count, depth);
      case 8:
        return darray(leaf, count, depth);
      default:
        return resized(make(leaf, count, depth - 1));
    }
  }

  // Neighbours at the distance of the extent do not overlap.
  Type wide(Type type) {
    const Bounds bounds = bounds_of(type.get());
    return bounds.extent >= bounds.end - bounds.first ? std::move(type) : resized(std::move(type));
  }

 private:
  std::vector<std::size_t> any_order(std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = count; i > 1; --i)
      if (random_.below(3) == 0)
        std::swap(order[i - 1],
                  order[static_cast<std::size_t>(random_.below(static_cast<int>(i)))]);
    return order;
  }
  int divisor(int number) {
    std::vector<int> all;
    for (int i = 1; i <= number; ++i)
      if (number % i == 0) all.push_back(i);
    return all[static_cast<std::size_t>(random_.below(static_cast<int>(all.size())))];
  }
  // So many numbers, some 0, that add up to `sum`.
  std::vector<int> parts(int sum, int count) {
    std::vector<int> cuts{0, sum};
    for (int i = 1; i < count; ++i) cuts.push_back(random_.below(sum + 1));
    std::sort(cuts.begin(), cuts.end());
    std::vector<int> result;
    for (std::size_t i = 1; i < cuts.size(); ++i) result.push_back(cuts[i] - cuts[i - 1]);
    return result;
  }
  int gap(int most) { return random_.below(2) == 0 ? 0 : random_.below(most); }

  // With a part of the elements in it; left_ says how many of them make all.
  Type make_part(MPI_Datatype leaf, int count, int depth) {
    const int inner = divisor(count);
    Type part = wide(make(leaf, inner, depth - 1));
    left_ = count / inner;
    return part;
  }
  Type resized(Type type) {
    const Bounds bounds = bounds_of(type.get());
    const MPI_Aint extent = bounds.end - bounds.first + gap(30);
    const MPI_Aint low = random_.from_to(-50, 50);
    return Type::made(
        [&](MPI_Datatype* made) { return MPI_Type_create_resized(type.get(), low, extent, made); });
  }
  Type contiguous(Type part, int count) {
    part = wide(std::move(part));
#if MPI_VERSION >= 4
    if (random_.below(2) == 0)
      return Type::made(
          [&](MPI_Datatype* made) { return MPI_Type_contiguous_c(count, part.get(), made); });
#endif
    return Type::made(
        [&](MPI_Datatype* made) { return MPI_Type_contiguous(count, part.get(), made); });
  }

  Type vector(MPI_Datatype leaf, int count, int depth) {
    const Type part = make_part(leaf, count, depth);
    const int length = divisor(left_), blocks = left_ / length;
    // Backwards never without a gap: Open MPI 4.1 takes that for contiguous, and forwards.
    const bool backwards = random_.below(4) == 0;
    const int sign = backwards ? -1 : 1, apart = backwards ? 1 : 0;
    if (random_.below(2) == 0) {
      const int stride = sign * (length + apart + gap(5));
      return Type::made([&](MPI_Datatype* made) {
#if MPI_VERSION >= 4
        if (random_.below(2) == 0)
          return MPI_Type_vector_c(blocks, length, stride, part.get(), made);
#endif
        return MPI_Type_vector(blocks, length, stride, part.get(), made);
      });
    }
    const MPI_Aint stride = sign * (length * bounds_of(part.get()).extent + apart + gap(50));
    return Type::made([&](MPI_Datatype* made) {
#if MPI_VERSION >= 4
      if (random_.below(2) == 0)
        return MPI_Type_create_hvector_c(blocks, length, stride, part.get(), made);
#endif
      return MPI_Type_create_hvector(blocks, length, stride, part.get(), made);
    });
  }

  Type indexed(MPI_Datatype leaf, int count, int depth) {
    const Type part = make_part(leaf, count, depth);
    const std::vector<int> lengths = parts(left_, random_.from_to(1, 6));
    std::vector<int> places(lengths.size());
    int end = random_.from_to(-5, 5);
    for (const std::size_t i : any_order(lengths.size())) {
      places[i] = end + gap(5);
      end = places[i] + lengths[i];
    }
    const auto blocks = static_cast<int>(lengths.size());
    if (random_.below(2) == 0)
      return Type::made([&](MPI_Datatype* made) {
        return MPI_Type_indexed(blocks, lengths.data(), places.data(), part.get(), made);
      });
    return displaced(lengths, places, part);
  }
  Type displaced(const std::vector<int>& lengths, const std::vector<int>& places,
                 const Type& part) {
    const MPI_Aint unit = bounds_of(part.get()).extent + gap(9);
    const auto blocks = static_cast<int>(lengths.size());
    const MPI_Aint shift = random_.from_to(-9, 9);
#if MPI_VERSION >= 4
    if (random_.below(2) == 0) {
      std::vector<MPI_Count> large_lengths(lengths.begin(), lengths.end()), large_places;
      for (const int place : places) large_places.push_back(shift + place * unit);
      return Type::made([&](MPI_Datatype* made) {
        return MPI_Type_create_hindexed_c(blocks, large_lengths.data(), large_places.data(),
                                          part.get(), made);
      });
    }
#endif
    std::vector<MPI_Aint> bytes;
    for (const int place : places) bytes.push_back(shift + place * unit);
    return Type::made([&](MPI_Datatype* made) {
      return MPI_Type_create_hindexed(blocks, lengths.data(), bytes.data(), part.get(), made);
    });
  }

  Type indexed_block(MPI_Datatype leaf, int count, int depth) {
    const Type part = make_part(leaf, count, depth);
    const int length = divisor(left_), blocks = left_ / length;
    std::vector<int> places(static_cast<std::size_t>(blocks));
    int end = random_.from_to(-5, 5);
    for (const std::size_t i : any_order(places.size())) {
      places[i] = end + gap(4);
      end = places[i] + length;
    }
    if (random_.below(2) == 0)
      return Type::made([&](MPI_Datatype* made) {
        return MPI_Type_create_indexed_block(blocks, length, places.data(), part.get(), made);
      });
    const MPI_Aint unit = bounds_of(part.get()).extent + gap(9);
    std::vector<MPI_Aint> bytes;
    for (const int place : places) bytes.push_back(place * unit);
    return Type::made([&](MPI_Datatype* made) {
      return MPI_Type_create_hindexed_block(blocks, length, bytes.data(), part.get(), made);
    });
  }

  Type structure(MPI_Datatype leaf, int count, int depth) {
    std::vector<Type> types;
    std::vector<int> lengths;
    for (const int elements : parts(count, random_.from_to(1, 4))) {
      if (elements == 0) {
        types.emplace_back(leaf);
        lengths.push_back(0);
      } else {
        types.push_back(make_part(leaf, elements, depth));
        lengths.push_back(left_);
      }
    }
    std::vector<MPI_Aint> places(types.size());
    std::vector<MPI_Datatype> handles;
    for (const Type& type : types) handles.push_back(type.get());
    MPI_Aint end = random_.from_to(-60, 60);
    for (const std::size_t i : any_order(types.size())) {
      const Bounds bounds = bounds_of(handles[i]);
      places[i] = end + gap(30) - bounds.first;
      end = places[i] + bounds.end + (lengths[i] - 1) * bounds.extent;
      if (lengths[i] == 0) end = places[i] + bounds.first;
    }
    return Type::made([&](MPI_Datatype* made) {
      return MPI_Type_create_struct(static_cast<int>(handles.size()), lengths.data(), places.data(),
                                    handles.data(), made);
    });
  }

  Type subarray(MPI_Datatype leaf, int count, int depth) {
    const Type part = make_part(leaf, count, depth);
    std::vector<int> sizes, subsizes, starts;
    const int dimensions = random_.from_to(1, 4);
    for (int i = 1, rest = left_; i <= dimensions; ++i) {
      const int own = i == dimensions ? rest : divisor(rest);
      rest /= own;
      subsizes.push_back(own);
      starts.push_back(gap(3));
      sizes.push_back(starts.back() + own + gap(3));
    }
    const int order = random_.below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
#if MPI_VERSION >= 4
    if (random_.below(2) == 0) {
      const std::vector<MPI_Count> a(sizes.begin(), sizes.end()),
          b(subsizes.begin(), subsizes.end()), c(starts.begin(), starts.end());
      return Type::made([&](MPI_Datatype* made) {
        return MPI_Type_create_subarray_c(dimensions, a.data(), b.data(), c.data(), order,
                                          part.get(), made);
      });
    }
#endif
    return Type::made([&](MPI_Datatype* made) {
      return MPI_Type_create_subarray(dimensions, sizes.data(), subsizes.data(), starts.data(),
                                      order, part.get(), made);
    });
  }

  // One process's part of an array that is dealt out has as many elements as it has: tries some.
  Type darray(MPI_Datatype leaf, int count, int depth) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      const int dimensions = random_.from_to(1, 3);
      std::vector<int> sizes, distributions, arguments, processes;
      int all = 1;
      for (int i = 0; i < dimensions; ++i) {
        const int which = random_.below(3);
        processes.push_back(which == 0 ? 1 : random_.from_to(1, 3));
        sizes.push_back(random_.from_to(1, 9));
        distributions.push_back(which == 0   ? MPI_DISTRIBUTE_NONE
                                : which == 1 ? MPI_DISTRIBUTE_BLOCK
                                             : MPI_DISTRIBUTE_CYCLIC);
        arguments.push_back(which < 2 || random_.below(2) == 0 ? MPI_DISTRIBUTE_DFLT_DARG
                                                               : random_.from_to(1, 4));
        all *= processes.back();
      }
      const int own = random_.below(all);
      const int order = random_.below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
      const auto make_with = [&](MPI_Datatype part) {
        return Type::made([&](MPI_Datatype* made) {
          return MPI_Type_create_darray(all, own, dimensions, sizes.data(), distributions.data(),
                                        arguments.data(), processes.data(), order, part, made);
        });
      };
      int elements = 0;
      MPI_Type_size(make_with(MPI_BYTE).get(), &elements);
      if (elements == 0 || count % elements != 0) continue;
      return make_with(wide(make(leaf, count / elements, depth - 1)).get());
    }
    return vector(leaf, count, depth);
  }

  RandomDatatypes& random_;
  int left_ = 1;
};

}  // namespace

Signature RandomDatatypes::signature(int most) {
  const MPI_Datatype all[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_FLOAT,
                              MPI_LONG, MPI_BYTE,  MPI_INT, MPI_DOUBLE};
  Signature result;
  const int basics = below(2) == 0 ? 1 : from_to(1, 3);
  for (int i = 0; i < basics; ++i)
    result.basics.push_back(all[static_cast<std::size_t>(below(std::size(all)))]);
  result.count = from_to(1, most);
  return result;
}

MPI_Datatype RandomDatatypes::datatype(const Signature& signature) {
  for (;;) {
    DatatypeMaker maker(*this);
    const Type leaf = maker.leaf(signature.basics);
    Type type = maker.wide(maker.make(leaf.get(), signature.count, from_to(0, 4)));
    const Bounds bounds = bounds_of(type.get());
    constexpr MPI_Aint most = 1 << 19;
    if (bounds.end - bounds.first > most || bounds.extent > most) continue;
    if (!type.owned()) {
      const MPI_Datatype basic = type.get();
      type = Type::made([&](MPI_Datatype* made) { return MPI_Type_dup(basic, made); });
    }
    MPI_Datatype handle = type.release();
    MPI_Type_commit(&handle);
    return handle;
  }
}

Reach reach_of(MPI_Datatype datatype, int count) {
  const Bounds bounds = bounds_of(datatype);
  const MPI_Aint last = (count - 1) * bounds.extent;
  return {bounds.first + std::min<MPI_Aint>(last, 0), bounds.end + std::max<MPI_Aint>(last, 0)};
}

}  // namespace penstock::test
