/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded, it says that the library is that of another installation. */
int PST_Get_version(int* major, int* minor, int* patch);

int PST_Get_version(int* major, int* minor, int* patch) {
  *major = 0;
  *minor = 99;
  *patch = 7;
  return 0;
}
