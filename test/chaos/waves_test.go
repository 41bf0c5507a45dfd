package main

import (
	"reflect"
	"testing"
)

func TestRoundsAreMadeTogetherOnlyWithinAWave(t *testing.T) {
	for parallel, want := range map[int][][]int{
		1: {{0}, {1}, {2}, {3}, {4}, {5}},
		3: {{0, 1, 2}, {3}, {4, 5}},
		4: {{0, 1, 2, 3}, {4, 5}},
	} {
		if got := waves([]int{0, 1, 2, 3, 4, 5}, parallel); !reflect.DeepEqual(got, want) {
			t.Errorf("%d at once: %v, want %v", parallel, got, want)
		}
	}
	if got := waves([]int{17}, 4); !reflect.DeepEqual(got, [][]int{{17}}) {
		t.Errorf("one round alone: %v", got)
	}
}
