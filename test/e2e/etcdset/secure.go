package etcdset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
)

const certificates = "/etc/etcd/tls"

// HostNames are the names that a certificate for the set must carry: those of
// its pods, as the governing service publishes them.
func (o Options) HostNames() []string {
	o = o.filled()
	var names []string
	for i := range o.Replicas {
		names = append(names, fmt.Sprintf("%s-%d.%s.%s.svc", o.Name, i, o.Name, o.Namespace))
	}
	return names
}

// secure makes a plain template one that serves clients and peers over TLS and
// wants a certificate of both. Only the metrics stay as they are, for the probe.
func (o Options) secure(spec *corev1.PodSpec) {
	etcd := &spec.Containers[0]
	for i, argument := range etcd.Args {
		if !strings.HasPrefix(argument, "--listen-metrics-urls=") {
			etcd.Args[i] = strings.ReplaceAll(argument, "http://", "https://")
		}
	}
	for _, side := range []string{"", "peer-"} {
		etcd.Args = append(etcd.Args, "--"+side+"cert-file="+certificates+"/tls.crt", "--"+side+"key-file="+certificates+"/tls.key",
			"--"+side+"trusted-ca-file="+certificates+"/ca.crt", "--"+side+"client-cert-auth")
	}
	// On loopback every connection comes from the same address, whichever pod
	// made it, and etcd looks that address up among the certificate's names.
	etcd.Args = append(etcd.Args, "--peer-skip-client-san-verification")
	etcd.VolumeMounts = append(etcd.VolumeMounts, corev1.VolumeMount{Name: "tls", MountPath: certificates, ReadOnly: true})
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "tls",
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: o.TLSSecret}}})
}

// EnableAuth makes the user root with the password and switches authentication
// on. From then on the set is accessed as root.
func (s *Set) EnableAuth(ctx context.Context, password string) error {
	endpoints, err := s.Endpoints(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err = withClient(s.Access, endpoints[0], func(c *clientv3.Client) (any, error) {
		if _, err := c.UserAdd(ctx, "root", password); err != nil {
			return nil, err
		}
		if _, err := c.UserGrantRole(ctx, "root", "root"); err != nil {
			return nil, err
		}
		return c.AuthEnable(ctx)
	})
	if err != nil {
		return fmt.Errorf("enable authentication: %w", err)
	}
	s.Access.User, s.Access.Password = "root", password
	return nil
}

// EnableDowngrade allows the members to go back to this minor version. A young
// cluster refuses every version until it has settled on its own, which takes
// some seconds, so it is asked again until ctx or half a minute is over.
func (s *Set) EnableDowngrade(ctx context.Context, line string) error {
	endpoints, err := s.Endpoints(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err = withClient(s.Access, endpoints[0], func(c *clientv3.Client) (*clientv3.DowngradeResponse, error) {
		for {
			r, err := c.Downgrade(ctx, clientv3.DowngradeEnable, line)
			if !errors.Is(err, rpctypes.ErrInvalidDowngradeTargetVersion) {
				return r, err
			}
			select {
			case <-ctx.Done():
				return nil, err
			case <-time.After(500 * time.Millisecond):
			}
		}
	})
	if err != nil {
		return fmt.Errorf("enable downgrade to %s: %w", line, err)
	}
	return nil
}
