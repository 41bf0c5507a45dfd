package main

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/plan"
)

func TestALaneIsNeverSplit(t *testing.T) {
	numbers := []int{0, 1, 2, 3, 4, 5, 6}
	for parallel, want := range map[int][]lanes{
		1: {{{0, 5}}, {{1, 6}}, {{2}}, {{3}}, {{4}}},
		3: {{{0, 5}, {1, 6}, {2}}, {{3}, {4}}},
		5: {{{0, 5}, {1, 6}, {2}, {3}, {4}}},
	} {
		if got := groups(numbers, parallel); !reflect.DeepEqual(got, want) {
			t.Errorf("%d at once: %v, want %v", parallel, got, want)
		}
	}
	if got := groups([]int{17}, plan.Lanes); !reflect.DeepEqual(got, []lanes{{{17}}}) {
		t.Errorf("one round alone: %v", got)
	}
}

// What befalls the control plane begins when all lanes are ready, and no lane
// goes on before it is over; one that does not come holds nobody up.
func TestLanesMeetWhereTheyShareAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meeting{begin: make(chan struct{}), over: make(chan struct{})}
		m.ready.Add(3)
		lasting := []plan.Fault{{When: plan.Moment{After: time.Minute}}}
		ctx, cancel := context.WithCancel(t.Context())
		go m.hold(ctx, nil, lasting)
		began := time.Now()
		first, second, absent := m.attend(), m.attend(), m.attend()
		first()
		first()
		absent()
		time.Sleep(time.Second)
		select {
		case <-m.begun():
			t.Fatal("it began without the second lane")
		default:
		}
		second()
		<-m.begun()
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("began after %v", waited)
		}
		time.AfterFunc(10*time.Second, cancel) // the faults end with the context, none came about
		if told := <-m.told(); len(told) != 0 {
			t.Errorf("told of %v", told)
		}
		m.await()
		if waited := time.Since(began); waited != 11*time.Second {
			t.Errorf("went on after %v", waited)
		}
	})
}

func TestWithoutASharedFaultNobodyWaits(t *testing.T) {
	var m *meeting
	m.attend()()
	<-m.begun()
	m.await()
	if told := <-m.told(); told != nil {
		t.Errorf("told of %v", told)
	}
}

// A lane for which there is no time left, or whose run was ended, makes no more
// rounds. The others do not wait for it where all would have met.
func TestWhoComesNoMoreHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		th := &theatre{options: options{seed: 1}}
		met := th.meetings(ctx, lanes{{0}, {1}})
		if len(met) != 1 {
			t.Fatalf("rounds 0 and 1 of seed 1 share no fault: %v", met)
		}
		ready := met[0].attend()
		th.lane(ctx, []int{1}, met, time.Time{})
		ready()
		synctest.Wait()
		select {
		case <-met[0].begun():
		default:
			t.Error("the other lane is waited for")
		}
	})
}
