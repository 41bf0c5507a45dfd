package etcdprobe

import (
	"context"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

type fakeMaintenance struct {
	pb.UnimplementedMaintenanceServer
	m *fakeMember
}

func (f fakeMaintenance) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	if err := f.m.enter(ctx, "Status"); err != nil {
		return nil, err
	}
	if err := f.m.known(ctx); err != nil && f.m.statusNeedsUser {
		return nil, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.m.statuses++
	if f.m.onStatus != nil {
		f.m.onStatus(f.m.statuses, &f.m.status)
	}
	s := &f.m.status
	return &pb.StatusResponse{
		Header: &pb.ResponseHeader{ClusterId: s.Header.ClusterId, MemberId: s.Header.MemberId, Revision: s.Header.Revision},
		Leader: s.Leader, RaftTerm: s.RaftTerm, RaftIndex: s.RaftIndex, RaftAppliedIndex: s.RaftAppliedIndex,
		Version: s.Version, DbSize: s.DbSize, DbSizeQuota: s.DbSizeQuota, IsLearner: s.IsLearner,
		DowngradeInfo: s.DowngradeInfo, Errors: slices.Clone(s.Errors),
	}, nil
}

func (f fakeMaintenance) Alarm(ctx context.Context, r *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	if err := f.m.enter(ctx, "Alarm"+r.Action.String()); err != nil {
		return nil, err
	}
	if err := f.m.known(ctx); err != nil {
		return nil, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return &pb.AlarmResponse{Alarms: f.m.alarms}, nil
}

func (f fakeMaintenance) MoveLeader(ctx context.Context, r *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	f.m.set(func(m *fakeMember) { m.targets = append(m.targets, r.TargetID) })
	if err := f.m.enter(ctx, "MoveLeader"); err != nil {
		return nil, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.m.status.Leader != f.m.status.Header.MemberId {
		return nil, rpctypes.ErrGRPCNotLeader
	}
	return &pb.MoveLeaderResponse{}, nil
}

func (f fakeMaintenance) HashKV(ctx context.Context, _ *pb.HashKVRequest) (*pb.HashKVResponse, error) {
	if err := f.m.enter(ctx, "HashKV"); err != nil {
		return nil, err
	}
	return &pb.HashKVResponse{Hash: f.m.hash.Hash, CompactRevision: f.m.hash.CompactRevision}, nil
}

type fakeCluster struct {
	pb.UnimplementedClusterServer
	m *fakeMember
}

func (f fakeCluster) MemberList(ctx context.Context, r *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	call := "MemberList"
	if r.Linearizable {
		call = "MemberListLinearizable"
	}
	if err := f.m.enter(ctx, call); err != nil {
		return nil, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return &pb.MemberListResponse{Members: f.m.peers}, nil
}

type fakeKV struct {
	pb.UnimplementedKVServer
	m *fakeMember
}

func (f fakeKV) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	call := "Range"
	if r.Serializable {
		call = "RangeSerializable"
	}
	if err := f.m.enter(ctx, call); err != nil {
		return nil, err
	}
	if err := f.m.known(ctx); err != nil {
		return nil, err
	}
	return &pb.RangeResponse{}, nil
}

type fakeAuth struct {
	pb.UnimplementedAuthServer
	m *fakeMember
}

func (f fakeAuth) Authenticate(ctx context.Context, r *pb.AuthenticateRequest) (*pb.AuthenticateResponse, error) {
	if err := f.m.enter(ctx, "Authenticate"); err != nil {
		return nil, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	switch {
	case !f.m.auth:
		return nil, rpctypes.ErrGRPCAuthNotEnabled
	case r.Name == "" || f.m.users[r.Name] != r.Password:
		return nil, rpctypes.ErrGRPCAuthFailed
	}
	return &pb.AuthenticateResponse{Token: "token-of-" + r.Name}, nil
}

func (f fakeAuth) AuthStatus(ctx context.Context, _ *pb.AuthStatusRequest) (*pb.AuthStatusResponse, error) {
	if err := f.m.enter(ctx, "AuthStatus"); err != nil {
		return nil, err
	}
	if err := f.m.known(ctx); err != nil {
		return nil, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return &pb.AuthStatusResponse{Enabled: f.m.auth}, nil
}

func (f fakeAuth) UserList(ctx context.Context, _ *pb.AuthUserListRequest) (*pb.AuthUserListResponse, error) {
	if err := f.m.enter(ctx, "UserList"); err != nil {
		return nil, err
	}
	return nil, errDenied
}
