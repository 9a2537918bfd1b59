/* SPDX-License-Identifier: Apache-2.0 */
__attribute__((noinline)) float floats(float *p) {
    float s = 0.0f, a = p[0], b = p[1], c = p[2], d = p[3];
    for (int i = 0; i < 4; i++) { s += (float)frame4(i) * a + b; a += c * d; }
    return s + a + b + c + d;
}
__attribute__((noinline)) int inner(int x) { return frame516(x) + 1; }
__attribute__((noinline)) int outer(int x) { return frame4(x) + inner(x) + 2; }
int copies(char *a, char *b) { char t[200]; memcpy(t, a, 200); memmove(b, t, 200); return sink + t[sink]; }
