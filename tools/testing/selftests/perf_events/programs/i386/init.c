// SPDX-License-Identifier: GPL-2.0
/*
 * Process 1 of a guest that has no other programs than tests: runs each file of /tests on the
 * program's console, reports in the kernel log how many failed, and stops the machine.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int run(const char *name)
{
	char path[300];
	int status;
	pid_t pid;

	snprintf(path, sizeof(path), "/tests/%s", name);
	pid = fork();
	if (!pid) {
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 255;
	return WEXITSTATUS(status);
}

static int is_test(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(void)
{
	struct dirent **test;
	char result[32];
	int nr, failed = 0, log;

	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mkdir("/tmp", 01777);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	for (int fd = 0; fd < 3; fd++) {
		close(fd);
		open("/dev/ttyS0", O_RDWR);
	}
	nr = scandir("/tests", &test, is_test, alphasort);
	for (int i = 0; i < nr; i++) {
		int status;

		printf("@@ %s\n", test[i]->d_name);
		fflush(stdout);
		status = run(test[i]->d_name);
		printf("@@ %s: # Status: %d\n", test[i]->d_name, status);
		fflush(stdout);
		failed += !!status;
	}
	tcdrain(1);
	log = open("/dev/kmsg", O_WRONLY);
	snprintf(result, sizeof(result), "guest: exit %d\n", nr < 1 ? 100 : failed);
	if (write(log, result, strlen(result)) < 0)
		perror("/dev/kmsg");
	reboot(RB_AUTOBOOT);
	return 1;
}
