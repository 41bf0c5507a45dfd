// Package podlog finds and reads the log files of containers. They are plain
// output, kept after the pod is gone.
package podlog

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Options of reading.
type Options struct {
	Tail       int // last lines only; 0 means all
	LimitBytes int // 0 means no limit
	Follow     bool
}

// Find returns the newest log of a container, or with previous the one before;
// empty if there is none. With an empty uid it looks at the newest pod of that
// name, and with an empty container at the only one that has logs.
func Find(logsDir, namespace, name, uid, container string, previous bool) string {
	pattern := filepath.Join(logsDir, namespace+"_"+name+"_")
	if uid == "" {
		uid = "*"
	}
	if container == "" {
		container = "*"
	}
	logs, err := filepath.Glob(pattern + uid + "/" + container + "/*.log")
	if err != nil || len(logs) == 0 {
		return ""
	}
	sort.Slice(logs, func(i, j int) bool { return older(logs[i], logs[j]) })
	last := logs[len(logs)-1]
	if !previous {
		return last
	}
	return filepath.Join(filepath.Dir(last), strconv.Itoa(number(last)-1)+".log")
}

// older orders by pod, then by run. Pods of one name follow each other, so the
// last write tells which one is the later.
func older(a, b string) bool {
	if filepath.Dir(a) == filepath.Dir(b) {
		return number(a) < number(b)
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX != nil || errY == nil && x.ModTime().Before(y.ModTime())
}

func number(path string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".log"))
	if err != nil {
		return -1
	}
	return n
}

// Open reads a log. A followed log ends with the context.
func Open(ctx context.Context, path string, opts Options) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if opts.Tail > 0 {
		if err := seekTail(f, opts.Tail); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	var r io.Reader = f
	if opts.Follow {
		r = &follower{ctx: ctx, f: f}
	}
	if opts.LimitBytes > 0 {
		r = io.LimitReader(r, int64(opts.LimitBytes))
	}
	return struct {
		io.Reader
		io.Closer
	}{r, f}, nil
}

func seekTail(f *os.File, lines int) error {
	content, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	at := len(bytes.TrimSuffix(content, []byte("\n")))
	for ; lines > 0 && at >= 0; lines-- {
		at = bytes.LastIndexByte(content[:at], '\n')
	}
	_, err = f.Seek(int64(at+1), io.SeekStart)
	return err
}

type follower struct {
	ctx context.Context
	f   *os.File
}

func (r *follower) Read(p []byte) (int, error) {
	for {
		n, err := r.f.Read(p)
		if n > 0 || err != nil && err != io.EOF {
			return n, err
		}
		select {
		case <-r.ctx.Done():
			return 0, io.EOF
		case <-time.After(100 * time.Millisecond):
		}
	}
}
