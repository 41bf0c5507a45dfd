package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	vkapi "github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/test/local/podlog"
	"github.com/etcdroll/etcdroll/test/local/sandbox"
)

// serve offers the part of the kubelet's API behind `kubectl logs` and `kubectl
// exec`, to holders of the cluster's client certificates only.
func (a *Agent) serve(ctx context.Context) error {
	pair, err := tls.LoadX509KeyPair(a.config.CertFile, a.config.KeyFile)
	if err != nil {
		return fmt.Errorf("certificate of the kubelet API: %w", err)
	}
	ca, err := os.ReadFile(a.config.ClientCA)
	if err != nil {
		return err
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(ca)
	listener, err := tls.Listen("tcp", a.config.Address(), &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: clients,
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		return fmt.Errorf("listening for the kubelet API: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: vkapi.PodHandler(vkapi.PodHandlerConfig{
		GetContainerLogs: a.logs,
		RunInContainer:   a.exec,
		GetPodsFromKubernetes: func(context.Context) ([]*corev1.Pod, error) {
			var out []*corev1.Pod
			for _, w := range a.runtime.all() {
				out = append(out, w.Pod())
			}
			return out, nil
		},
	}, false)}
	go func() { _ = server.Serve(listener) }()
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	return nil
}

func (a *Agent) logs(ctx context.Context, namespace, name, container string, opts vkapi.ContainerLogOpts) (io.ReadCloser, error) {
	w := a.runtime.named(namespace, name)
	if w == nil {
		return nil, errdefs.NotFoundf("pod %s/%s is not here", namespace, name)
	}
	log := podlog.Find(a.config.LogsDir, namespace, name, string(w.Pod().UID), container, opts.Previous)
	if log == "" {
		return nil, errdefs.NotFoundf("container %s of pod %s/%s has no such log", container, namespace, name)
	}
	return podlog.Open(ctx, log, podlog.Options{Tail: opts.Tail, Follow: opts.Follow, LimitBytes: opts.LimitBytes})
}

func (a *Agent) exec(ctx context.Context, namespace, name, container string, command []string, attach vkapi.AttachIO) error {
	w := a.runtime.named(namespace, name)
	if w == nil {
		return errdefs.NotFoundf("pod %s/%s is not here", namespace, name)
	}
	process := w.Process(container)
	if process == nil {
		return errdefs.NotFoundf("container %s of pod %s/%s does not run", container, namespace, name)
	}
	streams := sandbox.Streams{In: attach.Stdin()}
	if out := attach.Stdout(); out != nil {
		streams.Out = out
	}
	if out := attach.Stderr(); out != nil {
		streams.Err = out
	}
	code, err := process.Exec(ctx, command, streams)
	if err == nil && code != 0 {
		err = fmt.Errorf("command terminated with exit code %d", code)
	}
	return err
}
