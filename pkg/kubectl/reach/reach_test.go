package reach

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/guard/etcdprobe"
)

// Two members at the same unreachable address: only the pod's name tells them
// apart, as the tunnel ends inside the pod.
func TestMembersAreAskedThroughTheAPIServer(t *testing.T) {
	f := &forwarder{t: t, pods: map[string]string{"etcd-0": startMember(t, 0xa0), "etcd-1": startMember(t, 0xa1)}}
	m := NewWay(PortForward, f.start()).Members(guard.DefaultLimits())
	reading := m.Probe(t.Context(), []etcdprobe.Endpoint{
		{Index: 0, Address: "10.0.0.1:2379", Expect: "etcd-0"}, {Index: 1, Address: "10.0.0.1:2379", Expect: "etcd-1"},
	}, etcdprobe.Credentials{})
	for i, want := range []guard.ID{0xa0, 0xa1} {
		if got := reading.Members[i]; !got.Reached || got.ID != want || got.Version != "3.6.16" {
			t.Errorf("member %d: %+v", i, got)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, want := range []string{"etcd-0:2379", "etcd-1:2379"} {
		if !slices.Contains(f.asked, want) {
			t.Errorf("forwarded to %v, want %s among them", f.asked, want)
		}
	}
}

func TestNothingIsLeftOfATunnel(t *testing.T) {
	f := &forwarder{t: t, pods: map[string]string{"etcd-0": startMember(t, 0xa0)}}
	conn, err := f.start()(t.Context(), "etcd-0", 2379)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		f.mu.Lock()
		closed := f.closed
		f.mu.Unlock()
		if closed == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the tunnel is still open")
		}
	}
}

func TestWhatTheFarEndComplainsOfIsTold(t *testing.T) {
	f := &forwarder{t: t, pods: map[string]string{"etcd-0": "127.0.0.1:1"}}
	conn, err := f.start()(t.Context(), "etcd-0", 2379)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "port-forward to etcd-0: error forwarding port: nobody listens") {
		t.Errorf("%v", err)
	}
}

func TestADeniedPortForwardIsTold(t *testing.T) {
	f := &forwarder{t: t}
	dial := f.start()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dial(ctx, "etcd-0", 2379); err == nil {
		t.Error("a tunnel without time")
	}
}

// beyond is an address for which the kernel has no way, and sends nothing.
const beyond = "255.255.255.255:2379"

func TestAutoTakesTheTunnelOnlyWhereThereIsNoOtherWay(t *testing.T) {
	far := startMember(t, 0xa0)
	var tunnelled []string
	through := func(_ context.Context, pod string, _ int) (net.Conn, error) {
		tunnelled = append(tunnelled, pod)
		return net.Dial("tcp", far)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := listener.Addr().String()
	_ = listener.Close()
	for name, c := range map[string]struct {
		via     Via
		address string
		want    []string
		fails   bool
	}{
		"reached directly":     {Auto, far, nil, false},
		"refused is an answer": {Auto, refusing, nil, true},
		"beyond":               {Auto, beyond, []string{"etcd-0", "etcd-0"}, false},
		"direct never tunnels": {Direct, beyond, nil, true},
		"always":               {PortForward, far, []string{"etcd-0", "etcd-0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tunnelled = nil
			way := NewWay(c.via, through)
			for range 2 {
				e := way.lead(etcdprobe.Endpoint{Address: c.address, Expect: "etcd-0"})
				conn, err := dialAs(t.Context(), e)
				if (err != nil) != c.fails {
					t.Errorf("error %v, want one: %t", err, c.fails)
				}
				if err == nil {
					_ = conn.Close()
				}
			}
			if !slices.Equal(tunnelled, c.want) {
				t.Errorf("tunnelled %v, want %v", tunnelled, c.want)
			}
		})
	}
}

func dialAs(ctx context.Context, e etcdprobe.Endpoint) (net.Conn, error) {
	if e.Dial != nil {
		return e.Dial(ctx)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", e.Address)
}

func TestBothWaysAreToldWhenBothFail(t *testing.T) {
	closed := errors.New("pods/portforward is forbidden")
	way := NewWay(Auto, func(context.Context, string, int) (net.Conn, error) { return nil, closed })
	_, err := way.lead(etcdprobe.Endpoint{Address: beyond, Expect: "etcd-0"}).Dial(t.Context())
	if !errors.Is(err, closed) || !strings.Contains(err.Error(), "255.255.255.255") {
		t.Errorf("%v", err)
	}
}

func TestThePluginMovesNoLeader(t *testing.T) {
	m := NewWay(Direct, nil).Members(guard.DefaultLimits())
	if err := m.MoveLeader(t.Context(), etcdprobe.Endpoint{}, etcdprobe.Credentials{}, 1); err == nil {
		t.Error("it would")
	}
}

func TestVia(t *testing.T) {
	for text, want := range map[string]Via{"": Auto, "auto": Auto, "direct": Direct, "port-forward": PortForward} {
		if got, err := ParseVia(text); got != want || err != nil {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	if _, err := ParseVia("vpn"); err == nil {
		t.Error("vpn is a way")
	}
}
