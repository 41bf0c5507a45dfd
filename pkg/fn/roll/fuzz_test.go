package roll

import (
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// FuzzNext: an observation with anything at all in any place gets a decision,
// the same one each time, and none that takes a member away from a cluster
// that is not well without it.
func FuzzNext(f *testing.F) {
	for _, seed := range [][]byte{nil, {0}, {1, 2, 3, 4, 5, 6, 7, 8}, make([]byte, 512)} {
		f.Add(seed)
	}
	f.Fuzz(rapid.MakeFuzz(nextWithstands))
}

func TestNextWithstandsAnything(t *testing.T) { rapid.Check(t, nextWithstands) }

func nextWithstands(t *rapid.T) {
	o := anyObservation(t)
	var places []reflect.Value
	leaves(reflect.ValueOf(&o).Elem(), &places)
	for range rapid.IntRange(0, 6).Draw(t, "oddities") {
		anything(t, places[rapid.IntRange(0, len(places)-1).Draw(t, "place")])
	}
	d := Next(o)
	if again := Next(o); !reflect.DeepEqual(d, again) {
		t.Fatalf("two decisions on one observation: %s and %s", Describe(d), Describe(again))
	}
	if w := d.Write; w != nil && w.SetPartition && (w.Partition < 0 || w.Partition > o.Set.Replicas) {
		t.Fatalf("partition %d of %d replicas: %s", w.Partition, o.Set.Replicas, Describe(d))
	}
	if d.Disruption() > 0 {
		mayDisrupt(t, o, d)
	}
}

// Replicas are 32 bits wide, and somebody will mistype them.
func TestATypoInReplicasCostsNoTime(t *testing.T) {
	for _, open := range []int{0, math.MaxInt32} {
		o := with(converged(3), func(o *Observed) {
			o.Set.Replicas, o.Set.Partition, o.Set.Management, o.Set.UpdateRevision = math.MaxInt32, open, guard.Parallel, "etcd-c"
		})
		began := time.Now()
		d := Next(o)
		LookAhead(o)
		if took := time.Since(began); d.Reason != ReasonShapeUnsupported || d.Disruption() > 0 || took > time.Second {
			t.Errorf("partition %d: %s in %s", open, Describe(d), took)
		}
	}
}

// mayDisrupt is what a step rests on, written without the gates.
func mayDisrupt(t *rapid.T, o Observed, d Decision) {
	s := o.Set
	if !s.Managed || s.Deleting || o.Paused || o.Config != nil || s.UpdateRevision == "" || s.Replicas < 1 || s.Replicas > guard.MaxReplicas {
		t.Fatalf("%s on %+v, paused %t, configuration %v", Describe(d), s, o.Paused, o.Config)
	}
	away := d.Effect.Index // of a move: whoever leads hands over, and stays
	if d.Disruption() == 2 {
		away = d.Victim
	}
	well := 0
	for i := range s.Replicas {
		m, up := o.Member(i), o.Pod(i).Usable() && o.Member(i).Reached && o.Member(i).Read == guard.Yes
		if d.Disruption() == 2 && i == away {
			if m.Reached && m.ID == m.Leader && s.Replicas > 1 {
				t.Fatalf("the leader's pod is given up: %s", Describe(d))
			}
			continue
		}
		if up {
			well++
		} else if i != d.Victim {
			t.Fatalf("member %d is not well: %s", i, Describe(d))
		}
	}
	if quorum := s.Replicas/2 + 1; well < quorum && (s.Replicas > 2 || !o.Limits.AllowDowntime) {
		t.Fatalf("%d of %d members are left: %s", well, s.Replicas, Describe(d))
	}
}

// leaves lists every place of the observation that can be set alone.
func leaves(v reflect.Value, places *[]reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if _, isTime := v.Interface().(time.Time); isTime {
			*places = append(*places, v)
			return
		}
		for i := range v.NumField() {
			leaves(v.Field(i), places)
		}
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), places)
		}
		*places = append(*places, v)
	case reflect.Pointer:
		if !v.IsNil() {
			leaves(v.Elem(), places)
		}
		*places = append(*places, v)
	default:
		*places = append(*places, v)
	}
}

// anything puts an odd value into the place: none, an extreme, or one that
// means something elsewhere.
func anything(t *rapid.T, v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(rapid.SampledFrom([]time.Time{{}, noon, noon.Add(time.Hour), noon.Add(-61 * time.Second), time.Unix(1<<40, 0)}).Draw(t, "time")))
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.Kind() == reflect.String:
		v.SetString(rapid.SampledFrom([]string{"", oldRev, newRev, "etcd-c", "\xff", "3.5.1", "99.0.0", "-1"}).Draw(t, "text"))
	case v.CanInt():
		n := rapid.SampledFrom([]int64{0, 1, -1, 2, 10, math.MaxInt64, math.MinInt64}).Draw(t, "number")
		v.SetInt(n)
	case v.CanUint():
		v.SetUint(rapid.SampledFrom([]uint64{0, 1, 2, 100, 101, 1000, math.MaxUint64}).Draw(t, "number"))
	case v.CanFloat():
		v.SetFloat(rapid.SampledFrom([]float64{0, 1, -1, math.NaN(), math.Inf(1)}).Draw(t, "share"))
	case v.Kind() == reflect.Slice && v.Len() > 0:
		v.Set(v.Slice(0, rapid.IntRange(0, v.Len()-1).Draw(t, "length")))
	default:
		v.SetZero()
	}
}
