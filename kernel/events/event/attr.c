// SPDX-License-Identifier: GPL-2.0
/*
 * Validation of struct perf_event_attr.
 *
 * A request is copied in the size that the caller's header has. perf_copy_attr() then checks the
 * rules that hold for every caller, perf_attr_permitted() the caller's privileges. The order of the
 * rules decides which errno a request with several faults gets and is part of the ABI.
 *
 * No locks. Process context.
 */
#include <linux/syscalls.h>
#include <linux/uaccess.h>

#include "event.h"

#ifdef CONFIG_SECURITY_PERF_EVENTS_RESTRICT
# define PARANOID_DEFAULT	3
#else
# define PARANOID_DEFAULT	2
#endif

/*
 * Without privilege: -1: no restriction. 0: no raw tracepoint data. 1: also no CPU events. 2: also
 * no kernel profiling. 3: no events at all.
 */
int sysctl_perf_event_paranoid __read_mostly = PARANOID_DEFAULT;

#define BRANCH_PRIVILEGES	(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL |	\
				 PERF_SAMPLE_BRANCH_HV)

/* Writes the size that this kernel supports to @uattr. */
static int attr_size_refused(struct perf_event_attr __user *uattr, u32 size)
{
	put_user(sizeof(struct perf_event_attr), &uattr->size);
	return perf_refuse(-E2BIG, "size: %llu, this kernel has %llu bytes (and no others set)",
			   size, sizeof(struct perf_event_attr));
}

static int attr_copy_in(struct perf_event_attr __user *uattr, struct perf_event_attr *attr)
{
	u32 size;
	int ret;

	if (get_user(size, &uattr->size))
		return perf_refuse(-EFAULT, "attr: cannot be read");
	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	if (size < PERF_ATTR_SIZE_VER0 || size > PAGE_SIZE)
		return attr_size_refused(uattr, size);

	ret = copy_struct_from_user(attr, sizeof(*attr), uattr, size);
	if (ret == -E2BIG)
		return attr_size_refused(uattr, size);
	if (ret)
		return perf_refuse(ret, "attr: cannot be read");
	attr->size = size;
	return 0;
}

static int attr_check_unknown_bits(struct perf_event_attr *attr)
{
	if (attr->__reserved_1 || attr->__reserved_2 || attr->__reserved_3)
		return perf_refuse(-EINVAL, "reserved fields: must be zero");
	if (attr->sample_type & ~(u64)(PERF_SAMPLE_MAX - 1))
		return perf_refuse(-EINVAL, "sample_type: unknown bits %#llx",
				   attr->sample_type & ~(u64)(PERF_SAMPLE_MAX - 1));
	if (attr->read_format & ~(u64)(PERF_FORMAT_MAX - 1))
		return perf_refuse(-EINVAL, "read_format: unknown bits %#llx",
				   attr->read_format & ~(u64)(PERF_FORMAT_MAX - 1));
	return 0;
}

/* Default of the privilege bits of branch_sample_type: the event's own levels. */
static u64 attr_branch_privileges(const struct perf_event_attr *attr)
{
	return (attr->exclude_user ? 0 : PERF_SAMPLE_BRANCH_USER) |
	       (attr->exclude_kernel ? 0 : PERF_SAMPLE_BRANCH_KERNEL) |
	       (attr->exclude_hv ? 0 : PERF_SAMPLE_BRANCH_HV);
}

static int attr_check_branch_stack(struct perf_event_attr *attr)
{
	u64 mask = attr->branch_sample_type;
	int ret;

	if (!(attr->sample_type & PERF_SAMPLE_BRANCH_STACK))
		return 0;
	if (mask & ~(u64)(PERF_SAMPLE_BRANCH_MAX - 1))
		return perf_refuse(-EINVAL, "branch_sample_type: unknown bits %#llx",
				   mask & ~(u64)(PERF_SAMPLE_BRANCH_MAX - 1));
	if (!(mask & ~(u64)BRANCH_PRIVILEGES))
		return perf_refuse(-EINVAL, "branch_sample_type: names no kind of branch");

	if (!(mask & BRANCH_PRIVILEGES))
		attr->branch_sample_type |= attr_branch_privileges(attr);
	if (attr->branch_sample_type & (PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV)) {
		ret = perf_allow_kernel();
		if (ret)
			return perf_refuse(ret,
					   "branch_sample_type: kernel branches need CAP_PERFMON");
	}
	return 0;
}

static int attr_check_user_state(struct perf_event_attr *attr)
{
	int ret;

	if (attr->sample_type & PERF_SAMPLE_REGS_USER) {
		ret = perf_reg_validate(attr->sample_regs_user);
		if (ret)
			return perf_refuse(ret, "sample_regs_user: no such registers %#llx",
					   attr->sample_regs_user);
	}
	if (attr->sample_type & PERF_SAMPLE_STACK_USER) {
		if (!IS_ENABLED(CONFIG_HAVE_PERF_USER_STACK_DUMP))
			return perf_refuse(-ENOSYS, "sample_stack_user: not on this architecture");
		if (attr->sample_stack_user >= USHRT_MAX)
			return perf_refuse(-EINVAL, "sample_stack_user: %llu is not below 65535",
					   attr->sample_stack_user);
		if (!IS_ALIGNED(attr->sample_stack_user, sizeof(u64)))
			return perf_refuse(-EINVAL, "sample_stack_user: %llu is no multiple of 8",
					   attr->sample_stack_user);
	}
	return 0;
}

static int attr_check_combinations(struct perf_event_attr *attr)
{
	u64 type = attr->sample_type;

	if (!IS_ENABLED(CONFIG_CGROUP_PERF) && (type & PERF_SAMPLE_CGROUP))
		return perf_refuse(-EINVAL, "sample_type: this kernel has no cgroup events");
	if ((type & PERF_SAMPLE_WEIGHT) && (type & PERF_SAMPLE_WEIGHT_STRUCT))
		return perf_refuse(-EINVAL,
				   "sample_type: WEIGHT and WEIGHT_STRUCT exclude one another");
	if (attr->inherit_thread && !attr->inherit)
		return perf_refuse(-EINVAL, "inherit_thread: needs inherit");
	if (attr->remove_on_exec && attr->enable_on_exec)
		return perf_refuse(-EINVAL, "remove_on_exec: not together with enable_on_exec");
	if (attr->sigtrap && !attr->remove_on_exec)
		return perf_refuse(-EINVAL, "sigtrap: needs remove_on_exec");
	if (type & PERF_SAMPLE_REGS_INTR) {
		int ret = perf_reg_validate(attr->sample_regs_intr);

		if (ret)
			return perf_refuse(ret, "sample_regs_intr: no such registers %#llx",
					   attr->sample_regs_intr);
	}
	return 0;
}

/**
 * perf_copy_attr - copy the attributes of an event from user space and validate them
 * @uattr: user memory
 * @attr: result. Fields behind the user's size are zero; defaults are filled in.
 *
 * Context: process context, may sleep
 * Return: 0; -EFAULT; -E2BIG, and the size of this kernel's structure is written to @uattr;
 *	-EINVAL; -ENOSYS if the architecture has no user stack dumps; -EACCES
 */
int perf_copy_attr(struct perf_event_attr __user *uattr, struct perf_event_attr *attr)
{
	int ret;

	ret = attr_copy_in(uattr, attr);
	if (ret)
		return ret;
	ret = attr_check_unknown_bits(attr);
	if (ret)
		return ret;
	ret = attr_check_branch_stack(attr);
	if (ret)
		return ret;
	ret = attr_check_user_state(attr);
	if (ret)
		return ret;
	if (!attr->sample_max_stack)
		attr->sample_max_stack = min(sysctl_perf_event_max_stack, U16_MAX);
	return attr_check_combinations(attr);
}

int perf_allow_kernel(void)
{
	if (sysctl_perf_event_paranoid > 1 && !perfmon_capable())
		return -EACCES;
	return security_perf_event_open(PERF_SECURITY_KERNEL);
}
EXPORT_SYMBOL_GPL(perf_allow_kernel);

/* Does an event with these attributes expose kernel activity? */
static bool attr_sees_kernel(const struct perf_event_attr *attr)
{
	return !attr->exclude_kernel || attr->text_poke ||
	       ((attr->sample_type & PERF_SAMPLE_CALLCHAIN) && !attr->exclude_callchain_kernel);
}

static int attr_refuse_kernel(const struct perf_event_attr *attr, int err)
{
	if (!attr->exclude_kernel)
		return perf_refuse(err,
				   "exclude_kernel: needs CAP_PERFMON, perf_event_paranoid is %lld",
				   sysctl_perf_event_paranoid);
	if (attr->text_poke)
		return perf_refuse(err,
				   "text_poke: needs CAP_PERFMON, perf_event_paranoid is %lld",
				   sysctl_perf_event_paranoid);
	return perf_refuse(err,
			   "exclude_callchain_kernel: needs CAP_PERFMON, paranoid is %lld",
			   sysctl_perf_event_paranoid);
}

static int attr_check_rate(const struct perf_event_attr *attr)
{
	if (attr->freq && attr->sample_freq > sysctl_perf_event_sample_rate)
		return perf_refuse(-EINVAL,
				   "sample_freq: %llu is over perf_event_max_sample_rate %llu",
				   attr->sample_freq, sysctl_perf_event_sample_rate);
	if (!attr->freq && (attr->sample_period & BIT_ULL(63)))
		return perf_refuse(-EINVAL, "sample_period: bit 63 must be clear");
	return 0;
}

static int attr_check_sampled_secrets(const struct perf_event_attr *attr)
{
	int ret;

	if (attr->sample_type & PERF_SAMPLE_PHYS_ADDR) {
		ret = perf_allow_kernel();
		if (ret)
			return perf_refuse(ret, "sample_type: PHYS_ADDR needs CAP_PERFMON");
	}
	if (attr->sample_type & PERF_SAMPLE_REGS_INTR) {
		ret = security_locked_down(LOCKDOWN_PERF);
		if (ret)
			return perf_refuse(ret, "sample_type: REGS_INTR is locked down");
	}
	return 0;
}

/**
 * perf_attr_permitted - check the caller's privileges for an event, whatever its target
 * @attr: attributes from perf_copy_attr()
 *
 * Context: process context
 * Return: 0, -EACCES, -EINVAL, -EPERM or a security module's errno
 */
int perf_attr_permitted(const struct perf_event_attr *attr)
{
	int ret;

	if (perf_paranoid_any() && !capable(CAP_SYS_ADMIN))
		return perf_refuse(-EACCES, "perf_event_paranoid: 3 needs CAP_SYS_ADMIN");
	ret = security_perf_event_open(PERF_SECURITY_OPEN);
	if (ret)
		return perf_refuse(ret, "security module: no perf events");
	if (attr_sees_kernel(attr)) {
		ret = perf_allow_kernel();
		if (ret)
			return attr_refuse_kernel(attr, ret);
	}
	if (attr->namespaces && !perfmon_capable())
		return perf_refuse(-EACCES, "namespaces: needs CAP_PERFMON");
	ret = attr_check_rate(attr);
	if (ret)
		return ret;
	return attr_check_sampled_secrets(attr);
}
