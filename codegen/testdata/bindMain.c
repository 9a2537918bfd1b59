/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "one.h"
static _Alignas(16) unsigned char blob[4096], good[4096], arena[ONE_ARENA_BYTES];
static int bad;
static void check(int ok, const char *what) { if (!ok) { puts(what); bad = 1; } }
static void load(const char *name, unsigned char *to)
{
    FILE *const f = fopen(name, "rb");
    if (f == NULL || fread(to, 1, 4096, f) == 0) { exit(3); }
    (void)fclose(f);
}
int main(void)
{
    check(one_bind(NULL, 4096) == NNCC_ERR_NULL, "NULL");
    check(one_scale_x() == 0.0f && one_zero_point_y() == 0, "a scale without a file");
