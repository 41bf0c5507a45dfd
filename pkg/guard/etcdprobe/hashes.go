package etcdprobe

import (
	"context"
	"fmt"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// DefaultHashTimeout bounds the hash of one member. It is long because the
// member reads its whole keyspace for it.
const DefaultHashTimeout = 30 * time.Second

// Hashes is a comparison of the members' contents.
type Hashes struct {
	Equal    guard.Answer // Unknown when a hash is missing or they cannot be compared
	Revision int64        // at which all were taken
	Members  []uint32     // by index
	Detail   string       // why Equal is not Yes
}

// CompareHashes lets every member hash its keys at one revision that all have
// reached. It finds members whose contents differ although their progress
// agrees, which no other reading shows. Each member reads its whole keyspace
// for it, in the order of seconds of disk and CPU per GiB, and the user needs
// the root role: ask for it at the start and the end of a roll, not at each
// step.
func (p Prober) CompareHashes(ctx context.Context, endpoints []Endpoint, who Credentials) Hashes {
	p = p.withDefaults()
	talks := beginAll(endpoints, who, p.CallTimeout)
	defer endAll(talks)
	together(talks, func(t *interview) { t.introduce(ctx) })
	out := Hashes{Revision: commonRevision(talks)}
	if out.Revision == 0 {
		out.Detail = "not every member told its revision"
		return out
	}
	answers := make([]*clientv3.HashKVResponse, guard.MaxReplicas)
	failures := make([]*Failure, guard.MaxReplicas)
	together(talks, func(t *interview) {
		t.link.limit = DefaultHashTimeout
		i := t.endpoint.Index
		answers[i], failures[i] = call(ctx, t.link, "HashKV", func(ctx context.Context) (*clientv3.HashKVResponse, error) {
			return t.link.maintenance.HashKV(ctx, t.endpoint.Address, out.Revision)
		})
	})
	out.compare(talks, answers, failures)
	return out
}

// commonRevision is the lowest revision among the members, 0 if one did not
// tell.
func commonRevision(talks []*interview) int64 {
	var revisions []int64
	for _, t := range talks {
		revisions = append(revisions, t.member.First.Revision)
	}
	if len(revisions) == 0 {
		return 0
	}
	return slices.Min(revisions)
}

// compare needs equal compaction: members that compacted up to different
// revisions hash different histories of the same contents. A difference found
// outweighs an answer that is missing.
func (h *Hashes) compare(talks []*interview, answers []*clientv3.HashKVResponse, failures []*Failure) {
	first := talks[0].endpoint
	reference := answers[first.Index]
	h.Equal = guard.Yes
	for _, t := range talks {
		i := t.endpoint.Index
		h.Members = append(h.Members, make([]uint32, max(0, i+1-len(h.Members)))...)
		switch {
		case failures[i] != nil:
			h.unknown(t.endpoint.name() + ": " + failures[i].Error())
			continue
		case reference == nil || answers[i].CompactRevision != reference.CompactRevision:
			h.unknown("the members are compacted to different revisions")
			continue
		}
		h.Members[i] = answers[i].Hash
		if answers[i].Hash != reference.Hash {
			h.Equal = guard.No
			h.Detail = fmt.Sprintf("%s and %s differ at revision %d", first.name(), t.endpoint.name(), h.Revision)
		}
	}
}

func (h *Hashes) unknown(why string) {
	if h.Equal == guard.Yes {
		h.Equal, h.Detail = guard.Unknown, why
	}
}
