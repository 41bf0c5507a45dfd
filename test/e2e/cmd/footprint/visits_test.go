package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func at(n int) time.Time { return start.Add(ms(n)) }

func TestStepsAreVisitsThatWroteWithTheirTimeFromOutside(t *testing.T) {
	visits := []visit{{at(0), ms(10)}, {at(100), ms(30)}, {at(200), ms(5)}}
	lines := []line{
		{At: at(9), Deed: "nothing", DurationMs: 8},
		{At: at(129), Deed: "written", Step: "release", DurationMs: 28},
		{At: at(204), Deed: "written", Step: "lock", DurationMs: 3},
		{At: at(300), Deed: "written", Step: "move", DurationMs: 3}, // of a visit that is not answered yet
	}
	steps, err := stepsOf(visits, lines)
	if err != nil || len(steps) != 2 || steps[0] != (step{"release", at(100), ms(30), ms(28)}) || steps[1] != (step{"lock", at(200), ms(5), ms(3)}) {
		t.Errorf("%+v, %v", steps, err)
	}
}

func TestLinesThatAreNotOfTheseVisitsAreRefused(t *testing.T) {
	visits := []visit{{at(0), ms(10)}, {at(100), ms(10)}}
	for name, lines := range map[string][]line{
		"one too few": {{At: at(9), DurationMs: 8}},
		"too early":   {{At: at(9), DurationMs: 8}, {At: at(60), DurationMs: 9}},
		"too late":    {{At: at(9), DurationMs: 8}, {At: at(160), DurationMs: 9}},
	} {
		if steps, err := stepsOf(visits, lines); err == nil {
			t.Errorf("%s: %+v", name, steps)
		}
	}
}

func TestStepsAreJudgedByTheirMiddleAndMovesAreALineOfTheirOwn(t *testing.T) {
	steps := []step{{"release", at(0), ms(20), ms(19)}, {"move", at(0), ms(90), ms(89)}, {"lock", at(0), ms(10), ms(9)}, {"release", at(0), ms(30), ms(29)}}
	list := stepFigures(steps, 2)
	if !list[0].met || list[0].measured != "20.0 ms" || list[1].measured != "90.0 ms" || list[2].measured != "4 in 2" || list[3].measured != "19 ms" {
		t.Errorf("%+v", list[:4])
	}
	want := []string{"step `move`, 1 of them", "step `release`, 2 of them", "step `lock`, 1 of them"}
	for i, f := range list[4:] {
		if !strings.HasPrefix(f.what, want[i]) {
			t.Errorf("%q, want %q", f.what, want[i])
		}
	}
	if list[5].measured != "20.0 ms, 30.0 ms" {
		t.Errorf("%+v", list[5])
	}
	if none := stepFigures(nil, 0); none[0].met {
		t.Error("no step meets the bar")
	}
}

func TestTheLogIsReadUpToItsLastWholeLine(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	text := `{"time":"2026-11-30T12:00:00.009Z","level":"INFO","msg":"visit","set":"a/b","durationMs":8,"step":"lock","deed":"written"}
{"time":"2026-11-30T12:00:00.010Z","level":"INFO","msg":"listening"}
{"time":"2026-11-30T12:00:00.011Z","level":"INFO","msg":"visit","set`
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	lines, err := linesOf(log)
	if err != nil || len(lines) != 1 || lines[0] != (line{At: at(9), Step: "lock", Deed: "written", DurationMs: 8}) {
		t.Errorf("%+v, %v", lines, err)
	}
}

func TestTheStopwatchTakesTheTimeOfTheWholeAnswerAndChangesNothing(t *testing.T) {
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Ce-Type", r.Header.Get("Ce-Type")+r.URL.Path)
		w.WriteHeader(http.StatusAccepted)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(20 * time.Millisecond)
		_, _ = w.Write(body)
	}))
	defer sink.Close()
	s, err := startStopwatch(sink.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	r, err := http.NewRequest(http.MethodPost, s.URL+"/path", strings.NewReader("hint"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Ce-Type", "asked")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted || answer.Header.Get("Ce-Type") != "asked/path" || string(body) != "hint" {
		t.Errorf("%d %v %q", answer.StatusCode, answer.Header, body)
	}
	visits, err := s.Visits()
	if err != nil || len(visits) != 1 || visits[0].took < 20*time.Millisecond {
		t.Errorf("%+v, %v", visits, err)
	}
	sink.Close()
	if answer, err := http.Post(s.URL, "text/plain", nil); err == nil {
		_ = answer.Body.Close()
	}
	if _, err := s.Visits(); err == nil {
		t.Error("an event that nobody answered is no error")
	}
}
