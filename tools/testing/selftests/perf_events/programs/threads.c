// SPDX-License-Identifier: GPL-2.0
/*
 * The output depends on where the threads are switched and on where the signals arrive. A
 * recording of rr has these places, and a replay prints the same.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>

#define THREADS 3
#define ROUNDS 300000

static uint64_t hash = 1;
static int signals;

static uint64_t hash_now(void)
{
	return __atomic_load_n(&hash, __ATOMIC_RELAXED);
}

/* Loses what other threads mix in between the load and the store. */
static void mix(uint64_t value)
{
	__atomic_store_n(&hash, hash_now() * 6364136223846793005ull + value, __ATOMIC_RELAXED);
}

static void on_alarm(int signal)
{
	mix(hash_now() >> 7 ^ (uint64_t)signal);
	__atomic_fetch_add(&signals, 1, __ATOMIC_RELAXED);
}

static void *worker(void *argument)
{
	uint64_t id = (uint64_t)argument;

	for (int i = 0; i < ROUNDS; i++) {
		if (hash_now() & 1 << id)
			mix(id);
		else
			mix(i);
	}
	return NULL;
}

int main(void)
{
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } };
	pthread_t threads[THREADS];

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	for (uint64_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("hash %016llx, %d signals\n", (unsigned long long)hash_now(),
	       __atomic_load_n(&signals, __ATOMIC_RELAXED));
	return 0;
}
