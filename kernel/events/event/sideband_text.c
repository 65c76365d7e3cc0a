// SPDX-License-Identifier: GPL-2.0
/*
 * Side-band records about kernel text: KSYMBOL, BPF_EVENT, TEXT_POKE.
 *
 * Context: process context with the hooks' mutexes held, or soft interrupt where a BPF program is
 * freed there. Does not sleep.
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/kallsyms.h>
#include <linux/uio.h>

#include "sideband.h"

/* -------------------------------------------------------------------- KSYMBOL */

struct ksymbol_record {
	struct {
		u64	addr;
		u32	len;
		u16	type;
		u16	flags;
	} body;
	unsigned int	size;
	char		name[perf_sb_padded(KSYM_NAME_LEN)];
};

static void sb_emit_ksymbol(struct perf_event *event, void *data)
{
	struct ksymbol_record *r = data;

	if (event->attr.ksymbol)
		perf_record_write(event, PERF_RECORD_KSYMBOL, 0, &r->body, sizeof(r->body),
				  r->name, r->size);
}

void perf_event_ksymbol(u16 ksym_type, u64 addr, u32 len, bool unregister, const char *sym)
{
	struct ksymbol_record r __uninitialized;

	if (!atomic_read(&perf_nr_ksymbol_events))
		return;
	if (WARN_ONCE(ksym_type == PERF_RECORD_KSYMBOL_TYPE_UNKNOWN ||
		      ksym_type >= PERF_RECORD_KSYMBOL_TYPE_MAX,
		      "perf: kernel symbol of type %u\n", ksym_type))
		return;

	r.body.addr = addr;
	r.body.len = len;
	r.body.type = ksym_type;
	r.body.flags = unregister ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0;
	r.size = perf_sb_string(r.name, sym, sizeof(r.name));
	perf_sb_visit(sb_emit_ksymbol, &r);
}

/* ------------------------------------------------------------------ BPF_EVENT */

struct bpf_record {
	u16	type;
	u16	flags;
	u32	id;
	u8	tag[BPF_TAG_SIZE];
};

static void sb_emit_bpf(struct perf_event *event, void *data)
{
	if (event->attr.bpf_event)
		perf_record_write(event, PERF_RECORD_BPF_EVENT, 0, data,
				  sizeof(struct bpf_record), NULL, 0);
}

static void sb_bpf_symbol(const struct bpf_prog *prog, bool unregister)
{
	perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_BPF, (u64)(unsigned long)prog->bpf_func,
			   prog->jited_len, unregister, prog->aux->ksym.name);
}

/* With subprograms func[0] is the program itself; only @prog has its name. */
static void sb_bpf_symbols(const struct bpf_prog *prog, bool unregister)
{
	const struct bpf_prog_aux *aux = prog->aux;

	sb_bpf_symbol(prog, unregister);
	for (u32 i = 1; i < aux->func_cnt; i++)
		sb_bpf_symbol(aux->func[i], unregister);
}

void perf_event_bpf_event(struct bpf_prog *prog, enum perf_bpf_event_type type, u16 flags)
{
	struct bpf_record r = { .type = type, .flags = flags, .id = prog->aux->id };

	if (type != PERF_BPF_EVENT_PROG_LOAD && type != PERF_BPF_EVENT_PROG_UNLOAD)
		return;
	if (atomic_read(&perf_nr_ksymbol_events))
		sb_bpf_symbols(prog, type == PERF_BPF_EVENT_PROG_UNLOAD);
	if (!atomic_read(&perf_nr_bpf_events))
		return;
	memcpy(r.tag, prog->tag, sizeof(r.tag));
	perf_sb_visit(sb_emit_bpf, &r);
}

/* ------------------------------------------------------------------ TEXT_POKE */

enum { POKE_BODY, POKE_OLD, POKE_NEW, POKE_PADDING, POKE_PARTS };

struct text_poke_record {
	struct {
		u64	addr;
		u16	old_len;
		u16	new_len;
	} __packed	body;
	struct kvec	part[POKE_PARTS];
	unsigned int	size;
};

static void sb_emit_text_poke(struct perf_event *event, void *data)
{
	struct text_poke_record *r = data;

	if (event->attr.text_poke)
		perf_record_write_parts(event, PERF_RECORD_TEXT_POKE, PERF_RECORD_MISC_KERNEL,
					r->part, POKE_PARTS, r->size);
}

static void sb_text_poke_part(struct text_poke_record *r, int i, const void *bytes, size_t len)
{
	r->part[i] = (struct kvec){ .iov_base = (void *)bytes, .iov_len = len };
	r->size += len;
}

void perf_event_text_poke(const void *addr, const void *old_bytes, size_t old_len,
			  const void *new_bytes, size_t new_len)
{
	static const u64 zero;
	struct text_poke_record r = {};

	/* perf_event_header::size has 16 bits; 256 bytes are reserved for header and id. */
	if (!atomic_read(&perf_nr_text_poke_events) || old_len + new_len > U16_MAX - 256)
		return;

	r.body.addr = (unsigned long)addr;
	r.body.old_len = old_len;
	r.body.new_len = new_len;
	sb_text_poke_part(&r, POKE_BODY, &r.body, sizeof(r.body));
	sb_text_poke_part(&r, POKE_OLD, old_bytes, old_len);
	sb_text_poke_part(&r, POKE_NEW, new_bytes, new_len);
	sb_text_poke_part(&r, POKE_PADDING, &zero, perf_sb_padded(r.size) - r.size);
	perf_sb_visit(sb_emit_text_poke, &r);
}
