// SPDX-License-Identifier: GPL-2.0
/* From a target to the places where files are opened; and programs that are started for it. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "names.h"

/* A growing array of places, and the CPUs that each task or cgroup is opened on. */
struct place_list {
	struct tally_place *place;
	int n;
	const int *cpus;
	int nr_cpus;
};

static int append_place(struct place_list *list, pid_t pid, int cpu, int cgroup)
{
	struct tally_place *more = realloc(list->place, (list->n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	list->place = more;
	more[list->n++] = (struct tally_place) {
		.pid = pid,
		.cpu = cpu,
		.cgroup = cgroup,
		.flags = PERF_FLAG_FD_CLOEXEC | (cgroup >= 0 ? PERF_FLAG_PID_CGROUP : 0),
	};
	return 0;
}

static int append_on_cpus(struct place_list *list, pid_t pid, int cgroup)
{
	int ret = 0;

	if (!list->nr_cpus)
		return append_place(list, pid, -1, cgroup);
	for (int i = 0; i < list->nr_cpus && !ret; i++)
		ret = append_place(list, pid, list->cpus[i], cgroup);
	return ret;
}

/* Each thread that the process has now. */
static int append_process(struct place_list *list, pid_t pid, struct tally_error *err)
{
	struct dirent **tasks;
	char path[64];
	int ret = 0, n;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	n = scandir(path, &tasks, NULL, versionsort);
	if (n < 0)
		return tally_fail(err, ESRCH, "no process %d", pid);
	for (int i = 0; i < n; i++) {
		if (!ret && *tasks[i]->d_name != '.')
			ret = append_on_cpus(list, atoi(tasks[i]->d_name), -1);
		free(tasks[i]);
	}
	free(tasks);
	return ret;
}

static int open_cgroup(const char *name, struct tally_error *err)
{
	static const char * const mounts[] = { "", "/sys/fs/cgroup/perf_event/", "/sys/fs/cgroup/",
					       "/sys/fs/cgroup/unified/", "/cgroup/" };
	char path[512];
	int fd = -1;

	for (size_t i = *name == '/' ? 0 : 1; i < ARRAY_SIZE(mounts) && fd < 0; i++) {
		snprintf(path, sizeof(path), "%s%s/cgroup.procs", mounts[i], name);
		if (access(path, F_OK))
			continue;
		*strrchr(path, '/') = 0;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return fd < 0 ? tally_fail(err, ENOENT, "%s: no such cgroup", name) : fd;
}

static int append_targets(struct place_list *list, const struct tally_target *target,
			  struct tally_error *err)
{
	int ret = 0;

	for (int i = 0; i < target->nr_cgroups && !ret; i++) {
		int fd = open_cgroup(target->cgroups[i], err);

		ret = fd < 0 ? fd : append_on_cpus(list, fd, i);
	}
	if (target->nr_cgroups)
		return ret;
	for (int i = 0; i < target->nr_pids && !ret; i++)
		ret = append_process(list, target->pids[i], err);
	for (int i = 0; i < target->nr_tids && !ret; i++)
		ret = append_on_cpus(list, target->tids[i], -1);
	if (!target->nr_pids && !target->nr_tids)
		ret = append_on_cpus(list, -1, -1);
	return ret;
}

/* The CPUs of a target, all of which must be online. */
static int target_cpus(const char *text, int **cpus, struct tally_error *err)
{
	int *online, nr_online, n = tally_cpu_list(text, cpus, err);

	if (n < 0 || !text)
		return n;
	nr_online = tally_cpu_list(NULL, &online, err);
	for (int i = 0; i < n && nr_online >= 0; i++) {
		int at = 0;

		while (at < nr_online && online[at] != (*cpus)[i])
			at++;
		if (at < nr_online)
			continue;
		n = tally_fail(err, ENODEV, "CPU %d is not online", (*cpus)[i]);
	}
	if (nr_online >= 0)
		free(online);
	return nr_online < 0 ? nr_online : n;
}

int tally_places(const struct tally_target *target, struct tally_place **places,
		 struct tally_error *err)
{
	bool tasks = target->nr_pids || target->nr_tids;
	struct place_list list = { 0 };
	int *cpus = NULL;
	int ret = 0;

	if (tasks && (target->all_cpus || target->nr_cgroups))
		return tally_fail(err, EINVAL, "tasks exclude all CPUs and cgroups");
	if (!tasks || target->cpus || target->per_cpu) {
		ret = target_cpus(target->cpus, &cpus, err);
		list.cpus = cpus;
		list.nr_cpus = ret;
	}
	if (ret >= 0)
		ret = append_targets(&list, target, err);
	free(cpus);
	if (!ret && !list.n)
		ret = tally_fail(err, ESRCH, "no task to measure");
	if (ret) {
		free(list.place);
		return ret;
	}
	*places = list.place;
	return list.n;
}

static void wait_and_execute(char **argv, int go, int failed)
{
	char byte;
	int error;

	if (read(go, &byte, 1) != 1)
		_exit(127);
	execvp(*argv, argv);
	error = errno;
	if (write(failed, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

int tally_command_prepare(struct tally_command *command, char **argv, struct tally_error *err)
{
	int go[2], failed[2];
	sigset_t none;

	if (pipe2(go, O_CLOEXEC))
		return tally_fail(err, errno, "pipe: %s", strerror(errno));
	if (pipe2(failed, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return tally_fail(err, errno, "pipe: %s", strerror(errno));
	}
	fflush(NULL);
	command->pid = fork();
	if (!command->pid) {
		close(go[1]);
		close(failed[0]);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		if (command->to_stderr)
			dup2(STDERR_FILENO, STDOUT_FILENO);
		wait_and_execute(argv, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	command->go = go[1];
	command->failed = failed[0];
	if (command->pid > 0)
		return 0;
	close(go[1]);
	close(failed[0]);
	return tally_fail(err, EAGAIN, "fork: %s", strerror(errno));
}

int tally_command_start(struct tally_command *command, const char *name, struct tally_error *err)
{
	int error = 0;
	ssize_t n;

	if (write(command->go, "g", 1) != 1)
		error = errno;
	close(command->go);
	do {
		n = read(command->failed, &error, sizeof(error));
	} while (n < 0 && errno == EINTR);
	close(command->failed);
	if (!error)
		return 0;
	waitpid(command->pid, NULL, 0);
	return tally_fail(err, error, "%s: %s", name, strerror(error));
}
