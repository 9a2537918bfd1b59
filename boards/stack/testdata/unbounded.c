/* SPDX-License-Identifier: Apache-2.0 */
int even(unsigned n); int odd(unsigned n); int use(char *p);
__attribute__((noinline)) int even(unsigned n) { volatile int k = 1; return n == 0 ? k : odd(n - 1) + k; }
__attribute__((noinline)) int odd(unsigned n) { volatile int k = 1; return n == 0 ? k : even(n - 1) + k; }
int top(unsigned n) { return even(n) + 1; }
int self(unsigned n) { volatile int k = 2; return n == 0 ? k : self(n / 2) + self(n - 1) + k; }
__attribute__((noinline)) int use(char *p) { return p[0]; }
int sized(int n) { char a[n]; a[0] = 1; return use(a) + 1; }
int taken(int n) { char *a = __builtin_alloca((unsigned)n); a[0] = 1; return use(a) + 1; }
int kernel_a(int x) { volatile char a[100]; a[x] = 1; return a[0]; }
int kernel_b(int x) { volatile char a[200]; a[x] = 1; return a[0]; }
int other(int x) { volatile char a[900]; a[x] = 1; return a[0]; }
int through(int (*f)(int), int x) { return f(x) + 1; }
int (*volatile held)(int);
int tail(int x) { return held(x); }
