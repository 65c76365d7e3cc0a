// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that use the header as users do: an attribute with every field set, a walk over the
 * records of a buffer, a read of the user page, and the decoding of the fields of a sample.
 * Compiled as C and as C++, freestanding, never run. compare.py checks that no field is missing.
 */
#include <linux/perf_event.h>

static void set_event(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_HARDWARE;
	attr->size = PERF_ATTR_SIZE_VER8;
	attr->config = PERF_COUNT_HW_INSTRUCTIONS | 8ULL << PERF_PMU_TYPE_SHIFT;
	attr->config1 = attr->config2 = attr->config3 = 0;
	attr->bp_type = 0;
	attr->bp_addr = attr->kprobe_func = attr->uprobe_path = 0x1000;
	attr->bp_len = attr->kprobe_addr = attr->probe_offset = 8;
}

static void set_sampling(struct perf_event_attr *attr)
{
	attr->sample_period = 100003;
	attr->sample_freq = 4000;
	attr->sample_type = PERF_SAMPLE_MAX - 1;
	attr->read_format = PERF_FORMAT_MAX - 1;
	attr->wakeup_events = 1;
	attr->wakeup_watermark = 4096;
	attr->branch_sample_type = PERF_SAMPLE_BRANCH_PLM_ALL | PERF_SAMPLE_BRANCH_ANY;
	attr->sample_regs_user = ~0ULL;
	attr->sample_regs_intr = ~0ULL;
	attr->sample_stack_user = 8192;
	attr->sample_max_stack = PERF_MAX_STACK_DEPTH;
	attr->clockid = -1;
	attr->aux_watermark = 1;
	attr->aux_sample_size = 64;
	attr->aux_action = 0;
	attr->aux_start_paused = attr->aux_pause = attr->aux_resume = 1;
	attr->sig_data = ~0ULL;
	attr->__reserved_1 = attr->__reserved_2 = attr->__reserved_3 = 0;
}

static void set_counting_flags(struct perf_event_attr *attr)
{
	attr->disabled = attr->inherit = attr->pinned = attr->exclusive = 1;
	attr->exclude_user = attr->exclude_kernel = attr->exclude_hv = attr->exclude_idle = 1;
	attr->exclude_host = attr->exclude_guest = 1;
	attr->exclude_callchain_kernel = attr->exclude_callchain_user = 1;
	attr->inherit_stat = attr->inherit_thread = 1;
	attr->enable_on_exec = attr->remove_on_exec = attr->sigtrap = 1;
	attr->freq = attr->watermark = attr->use_clockid = 1;
	attr->precise_ip = 3;
}

static void set_record_flags(struct perf_event_attr *attr)
{
	attr->mmap = attr->mmap2 = attr->mmap_data = attr->build_id = 1;
	attr->comm = attr->comm_exec = attr->task = attr->namespaces = attr->cgroup = 1;
	attr->context_switch = attr->ksymbol = attr->bpf_event = attr->text_poke = 1;
	attr->sample_id_all = attr->write_backward = attr->aux_output = 1;
}

/* Reads all records; returns the number of those of @type from user space. */
static unsigned int count_records(struct perf_event_mmap_page *page, __u32 type)
{
	const char *data = (const char *)page + page->data_offset;
	__u64 at = page->data_tail, head = page->data_head;
	unsigned int n = 0;

	while (at < head) {
		const struct perf_event_header *record =
			(const struct perf_event_header *)(data + at % page->data_size);

		n += record->type == type &&
		     (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
		at += record->size;
	}
	page->data_tail = at;
	return n;
}

static __u64 page_time(const volatile struct perf_event_mmap_page *page, __u64 counter)
{
	__u64 whole, rest;

	if (!page->cap_user_time || !page->cap_user_time_zero)
		return page->time_enabled + page->time_running;
	if (page->cap_user_time_short)
		counter = page->time_cycles + ((counter - page->time_cycles) & page->time_mask);
	whole = counter >> page->time_shift;
	rest = counter & ((1ULL << page->time_shift) - 1);
	return page->time_zero + whole * page->time_mult +
	       ((rest * page->time_mult) >> page->time_shift);
}

static __s64 page_count(const volatile struct perf_event_mmap_page *page, __s64 counter)
{
	__u32 lock;
	__s64 count;

	do {
		lock = page->lock;
		count = page->offset;
		if (page->cap_user_rdpmc && page->index) {
			counter <<= 64 - page->pmc_width;
			count += counter >> (64 - page->pmc_width);
		}
	} while (page->lock != lock);
	return count;
}

/* A load that hit the own L3, in both encodings. */
static int hit_l3(union perf_mem_data_src src)
{
	__u64 wanted = PERF_MEM_S(OP, LOAD) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVL, L3) |
		       PERF_MEM_S(LVLNUM, L3);

	return (src.val & wanted) == wanted && src.mem_lvl_num == PERF_MEM_LVLNUM_L3 &&
	       !src.mem_remote && src.mem_op == PERF_MEM_OP_LOAD;
}

static __u64 branch_weight(const struct perf_branch_entry *entry, union perf_sample_weight weight)
{
	if (entry->mispred || entry->type == PERF_BR_EXTEND_ABI)
		return entry->from - entry->to + entry->new_type;
	return entry->cycles + weight.var1_dw + weight.var2_w + weight.var3_w + entry->priv;
}

/* Request numbers are constants that a switch can distinguish. */
static int request_index(unsigned int request)
{
	switch (request) {
	case PERF_EVENT_IOC_ENABLE:		return 0;
	case PERF_EVENT_IOC_DISABLE:		return 1;
	case PERF_EVENT_IOC_REFRESH:		return 2;
	case PERF_EVENT_IOC_RESET:		return 3;
	case PERF_EVENT_IOC_PERIOD:		return 4;
	case PERF_EVENT_IOC_SET_OUTPUT:		return 5;
	case PERF_EVENT_IOC_SET_FILTER:		return 6;
	case PERF_EVENT_IOC_ID:			return 7;
	case PERF_EVENT_IOC_SET_BPF:		return 8;
	case PERF_EVENT_IOC_PAUSE_OUTPUT:	return 9;
	case PERF_EVENT_IOC_QUERY_BPF:		return 10;
	case PERF_EVENT_IOC_MODIFY_ATTRIBUTES:	return 11;
	default:				return -1;
	}
}

/* Calls all of the above, so that the compiler drops none. */
__s64 use_everything(struct perf_event_attr *attr, struct perf_event_mmap_page *page,
		     const struct perf_branch_entry *entry, union perf_mem_data_src src,
		     union perf_sample_weight weight);

__s64 use_everything(struct perf_event_attr *attr, struct perf_event_mmap_page *page,
		     const struct perf_branch_entry *entry, union perf_mem_data_src src,
		     union perf_sample_weight weight)
{
	set_event(attr);
	set_sampling(attr);
	set_counting_flags(attr);
	set_record_flags(attr);
	return count_records(page, PERF_RECORD_SAMPLE) + page_time(page, 1) + page_count(page, 1) +
	       hit_l3(src) + branch_weight(entry, weight) + request_index(PERF_EVENT_IOC_ID);
}
