package access

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Access is what members want of those who talk to them. The zero value is for
// clusters that want nothing.
type Access struct {
	// TLS has our certificate and a server name that every member's carries. Nil
	// is plain HTTP.
	TLS *tls.Config
	// User and Password of an etcd user; "" where there is no authentication.
	User, Password string
}

// URL is the client address of a member.
func (a Access) URL(hostPort string) string {
	if a.TLS != nil {
		return "https://" + hostPort
	}
	return "http://" + hostPort
}

// Config adds what members want to a client's configuration.
func (a Access) Config(c clientv3.Config) clientv3.Config {
	c.TLS, c.Username, c.Password = a.TLS, a.User, a.Password
	if a.TLS != nil {
		c.DialOptions = append(slices.Clone(c.DialOptions), grpc.WithTransportCredentials(expecting(a.TLS)))
	}
	return c
}

// expecting are credentials that expect the configured server name. client/v3
// would expect the address that it dials instead.
func expecting(c *tls.Config) credentials.TransportCredentials {
	return oneName{credentials.NewTLS(c), c.ServerName}
}

type oneName struct {
	credentials.TransportCredentials
	name string
}

func (o oneName) ClientHandshake(ctx context.Context, _ string, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return o.TransportCredentials.ClientHandshake(ctx, o.name, c)
}

func (o oneName) Clone() credentials.TransportCredentials {
	return oneName{o.TransportCredentials.Clone(), o.name}
}

// DialOptions are for a bare gRPC connection to one member.
func (a Access) DialOptions() []grpc.DialOption {
	transport := insecure.NewCredentials()
	if a.TLS != nil {
		transport = expecting(a.TLS)
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(transport)}
	if a.User != "" {
		options = append(options, grpc.WithUnaryInterceptor((&session{access: a}).call))
	}
	return options
}

// Refused says that a member answered and wants to know who is asking.
func Refused(err error) bool {
	return slices.Contains([]codes.Code{codes.Unauthenticated, codes.InvalidArgument, codes.PermissionDenied}, status.Code(err))
}

// session holds the token of one connection. A member forgets its tokens when
// it restarts, so whoever is refused logs in again, once per call.
type session struct {
	access Access
	mu     sync.Mutex
	token  string
}

func (s *session) call(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(s.sign(ctx), method, request, answer, c, options...)
	if !Refused(err) {
		return err
	}
	var login pb.AuthenticateResponse
	who := &pb.AuthenticateRequest{Name: s.access.User, Password: s.access.Password}
	if loginErr := invoke(ctx, pb.Auth_Authenticate_FullMethodName, who, &login, c, options...); loginErr != nil {
		return err
	}
	s.mu.Lock()
	s.token = login.Token
	s.mu.Unlock()
	return invoke(s.sign(ctx), method, request, answer, c, options...)
}

func (s *session) sign(ctx context.Context) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "token", s.token)
}
