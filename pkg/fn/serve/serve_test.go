package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"errors"
)

func noEnv(string) string { return "" }

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestFlagsComeFromTheCommandLineThenFromTheEnvironment(t *testing.T) {
	e := env("PORT", "9000", "ETCDROLL_MAX_WAIT", "20s", "ETCDROLL_NAMESPACES", "a", "KUBECONFIG", "/k")
	o, err := Parse([]string{"--namespaces=x, y"}, e, io.Discard)
	if err != nil || o.Listen != ":9000" || o.MaxWait != 20*time.Second || o.Kubeconfig != "/k" || !o.Namespaces.Allow("y") || o.Namespaces.Allow("a") {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = Parse([]string{"--namespaces=*", "--continue=sink", "--listen=:1", "--log-level=debug"}, noEnv, io.Discard)
	if err != nil || !o.Namespaces.Allow("any") || !o.ToSink || o.Listen != ":1" || o.LogLevel != slog.LevelDebug || o.MaxWait != 0 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestHelpExplainsEachFlag(t *testing.T) {
	var help bytes.Buffer
	if _, err := Parse([]string{"--help"}, noEnv, &help); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	for _, x := range texts(noEnv) {
		if !strings.Contains(help.String(), "-"+x.name) || !strings.Contains(help.String(), x.env) || !strings.Contains(help.String(), x.usage) {
			t.Errorf("--%s is not explained", x.name)
		}
	}
}

func TestMistakeAtTheStartIsOneClearLineAndANonZeroExit(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		words string
	}{
		"unknown flag":    {[]string{"--nope"}, "nope"},
		"stray argument":  {[]string{"roll"}, `"roll"`},
		"bad duration":    {[]string{"--max-wait=soon", "--namespaces=a"}, "--max-wait"},
		"too long":        {[]string{"--max-wait=1h", "--namespaces=a"}, "--max-wait"},
		"bad continue":    {[]string{"--continue=maybe", "--namespaces=a"}, "--continue"},
		"bad level":       {[]string{"--log-level=loud", "--namespaces=a"}, "--log-level"},
		"no namespace":    {nil, "--namespaces"},
		"no kubeconfig":   {[]string{"--namespaces=a"}, "--kubeconfig"},
		"kubeconfig gone": {[]string{"--namespaces=a", "--kubeconfig=/does/not/exist"}, "/does/not/exist"},
		"KN-14 no sink":   {[]string{"--namespaces=a", "--continue=sink", "--kubeconfig=" + kubeconfig(t, "http://127.0.0.1:1")}, "K_SINK"},
		"address in use":  {[]string{"--namespaces=a", "--listen=256.0.0.1:x", "--kubeconfig=" + kubeconfig(t, "http://127.0.0.1:1")}, "--listen"},
	} {
		var complaints bytes.Buffer
		code := Main(c.args, noEnv, io.Discard, &complaints, nil)
		if code == 0 || strings.Count(complaints.String(), "\n") != 1 || !strings.Contains(complaints.String(), c.words) {
			t.Errorf("%s: exit %d, %q", name, code, complaints.String())
		}
	}
	if code := Main([]string{"-h"}, noEnv, io.Discard, io.Discard, nil); code != 0 {
		t.Errorf("help exits with %d", code)
	}
}

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"` + server + `"}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// process is a running function with its log.
type process struct {
	mu     sync.Mutex
	log    bytes.Buffer
	url    string
	cancel context.CancelFunc
	done   chan error
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *process) address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var line struct{ Address string }
	first, _, _ := strings.Cut(p.log.String(), "\n")
	_ = json.Unmarshal([]byte(first), &line)
	return line.Address
}

// launch starts the function against an API server.
func launch(t *testing.T, server string, args ...string) *process {
	t.Helper()
	o, err := Parse(append([]string{"--namespaces=db", "--listen=127.0.0.1:0", "--kubeconfig=" + kubeconfig(t, server)}, args...), noEnv, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	t.Cleanup(cancel)
	go func() { p.done <- run(ctx, o, slog.New(slog.NewJSONHandler(p, nil)), nil) }()
	eventually(t, "it listens", func() bool { return p.address() != "" })
	p.url = "http://" + p.address()
	return p
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not so in 20 s: %s", what)
}

func code(t *testing.T, url string) int {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		return 0
	}
	_ = r.Body.Close()
	return r.StatusCode
}

func post(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Ce-Specversion": "1.0", "Ce-Type": "dev.etcdroll.statefulset.diverged.v1", "Ce-Id": "1", "Ce-Source": "/t", "Ce-Subject": "db/etcd", "Content-Type": "application/json"} {
		r.Header.Set(k, v)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// A cold start: it listens at once, and takes no event before it can look, so
// that whoever woke it keeps the event until then.
func TestKN13_ReadyOnceTheAPIServerHasAnswered(t *testing.T) {
	open := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-open:
			_, _ = io.WriteString(w, "{}")
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer api.Close()
	p := launch(t, api.URL)
	if got := code(t, p.url+"/healthz"); got != http.StatusOK {
		t.Errorf("healthz %d", got)
	}
	if got := code(t, p.url+"/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("readyz %d before the API server answers", got)
	}
	close(open)
	eventually(t, "it is ready", func() bool { return code(t, p.url+"/readyz") == http.StatusOK })
	if got := code(t, p.url+"/"); got != http.StatusMethodNotAllowed {
		t.Errorf("GET / %d", got)
	}
}

func TestKN12_RequestUnderWayIsAnsweredBeforeTheEnd(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "statefulsets") {
			once.Do(func() { close(entered) })
			<-leave
			w.WriteHeader(http.StatusNotFound)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","reason":"NotFound","code":404}`)
	}))
	defer api.Close()
	p := launch(t, api.URL)
	eventually(t, "it is ready", func() bool { return code(t, p.url+"/readyz") == http.StatusOK })
	answered := make(chan int, 1)
	go func() { answered <- post(t, p.url) }()
	<-entered
	start := time.Now()
	p.cancel()
	eventually(t, "it is not ready any more", func() bool { return code(t, p.url+"/readyz") != http.StatusOK })
	close(leave)
	if got := <-answered; got != http.StatusOK {
		t.Errorf("the request under way was answered %d", got)
	}
	if err := <-p.done; err != nil || time.Since(start) > quietTime+shutdownTime {
		t.Errorf("ended with %v after %s", err, time.Since(start))
	}
}

func TestAPIServerThatCannotBeReachedEndsTheProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as the start-up check")
	}
	p := launch(t, "http://127.0.0.1:1")
	if err := <-p.done; err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:1 cannot be reached") || strings.Contains(err.Error(), "\n") {
		t.Errorf("ended with %v", err)
	}
}
