/* SPDX-License-Identifier: Apache-2.0 */

#include "models.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
{{range $m, $x := .Models}}{{range .Inputs}}
static const uint8_t {{$x.Prefix}}_in_{{.CName}}[] = { {{- .Text -}} };
{{- end}}{{range .Outputs}}
static const uint8_t {{$x.Prefix}}_out_{{.CName}}[] = { {{- .Text -}} };
{{- end}}
/* The model in slices: other work between its steps. */
static nncc_status {{.Prefix}}_sliced(void *arena, volatile uint32_t *work)
{
#ifdef {{.Upper}}_STEPS
    int32_t step;
    for (step = 0; step < {{.Upper}}_STEPS; step++) {
        const nncc_status status = {{.Prefix}}_step(arena, step);
        if (status != NNCC_OK) {
            return status;
        }
        *work += (uint32_t)step;
    }
    return NNCC_OK;
#else
    *work += 1u;
    return {{.Prefix}}_run(arena);
#endif
}
{{- end}}

#define THREADS 9
typedef struct
{
    uint8_t arena[NNCC_MODELS_ARENA_BYTES] __attribute__((aligned(NNCC_MODELS_ARENA_ALIGN)));
    int number, wrong;
    volatile uint32_t work;
} thread;
static thread threads[THREADS];

static void *work(void *p)
{
    thread *const t = (thread *)p;
    uint32_t k;
    for (k = 0; k < 4u * {{.Rounds}}u; k++) {
        const uint32_t round = (k + (uint32_t)t->number) % {{.Rounds}}u;
{{- range $m, $x := .Models}}
{{- range .Inputs}}
        memcpy({{$x.Prefix}}_{{.CName}}(t->arena), {{$x.Prefix}}_in_{{.CName}} + round * {{.Bytes}}u, {{.Bytes}}u);
{{- end}}
        t->wrong += ((t->number == 0) ? {{.Prefix}}_sliced(t->arena, &t->work) : {{.Prefix}}_run(t->arena)) != NNCC_OK;
{{- range .Outputs}}
        t->wrong += memcmp({{$x.Prefix}}_{{.CName}}(t->arena), {{$x.Prefix}}_out_{{.CName}} + round * {{.Bytes}}u,
                           {{.Bytes}}u) != 0;
{{- end}}
{{- end}}
    }
    return NULL;
}

int main(void)
{
    pthread_t id[THREADS];
    int i, wrong = 0;
    for (i = 0; i < THREADS; i++) {
        threads[i].number = i;
        if (pthread_create(&id[i], NULL, work, &threads[i]) != 0) {
            return 2;
        }
    }
    for (i = 0; i < THREADS; i++) {
        (void)pthread_join(id[i], NULL);
        wrong += threads[i].wrong;
    }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
