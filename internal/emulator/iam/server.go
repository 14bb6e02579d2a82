// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package iam

import (
	"context"
	"regexp"
	"strings"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

const (
	maxDisplayName = 100 // bytes, of the proto's comment
	maxDescription = 256 // bytes, of the proto's comment
	defaultPage    = 20
	maxPage        = 100
)

// accountETag is what the real service answers for every account: the field is
// out of use there.
const accountETag = "01021920"

var accountID = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])$`)

// get finds the account that a request names, and the error to answer with when
// it is not there for a reader.
func (s *Service) get(name, permission string) (*adminpb.ServiceAccount, error) {
	project, id, ok := parse(name)
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "Invalid form of account name %s. Should be projects/PROJECT_ID/serviceAccounts/ACCOUNT where ACCOUNT is the email or the unique id.", name)
	}
	account, found := s.find(id)
	if found && inProject(account, project) {
		return account, nil
	}
	return nil, s.missing(name, project, permission)
}

// missing is the answer for an account that is not there: with "-" for the
// project the caller is not told whether it exists.
func (s *Service) missing(name, project, permission string) error {
	if project != "-" {
		return status.Error(codes.NotFound, "Unknown service account")
	}
	return withDetails(
		status.Newf(codes.PermissionDenied, "Permission '%s' denied on resource (or it may not exist).", permission),
		&errdetails.ErrorInfo{
			Reason: "IAM_PERMISSION_DENIED", Domain: "iam.googleapis.com",
			Metadata: map[string]string{"permission": permission, "resource": name},
		})
}

func withDetails(st *status.Status, details ...protoadapt.MessageV1) error {
	with, err := st.WithDetails(details...)
	if err != nil {
		return st.Err()
	}
	return with.Err()
}

func internal(err error) error { return status.Error(codes.Internal, err.Error()) }

// GetServiceAccount implements adminpb.IAMServer.
func (s *Service) GetServiceAccount(_ context.Context, req *adminpb.GetServiceAccountRequest) (*adminpb.ServiceAccount, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const permission = "iam.serviceAccounts.get"
	account, err := s.get(req.GetName(), permission)
	if err != nil {
		return nil, err
	}
	if s.hides(account.GetEmail(), ReadView) {
		project, _, _ := parse(req.GetName())
		return nil, s.missing(req.GetName(), project, permission)
	}
	return account, nil
}

// ListServiceAccounts implements adminpb.IAMServer; accounts come by e-mail.
func (s *Service) ListServiceAccounts(_ context.Context, req *adminpb.ListServiceAccountsRequest) (*adminpb.ListServiceAccountsResponse, error) {
	project, ok := strings.CutPrefix(req.GetName(), "projects/")
	if !ok || project == "" || strings.Contains(project, "/") {
		return nil, status.Errorf(codes.InvalidArgument, "Invalid form of project name %s. Should be projects/PROJECT_ID.", req.GetName())
	}
	size := int(req.GetPageSize())
	if size <= 0 {
		size = defaultPage
	}
	size = min(size, maxPage)
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := &adminpb.ListServiceAccountsResponse{}
	for _, key := range s.store.Keys(liveKeys) {
		account, found := s.byEmail(strings.TrimPrefix(key, liveKeys))
		if !found || !inProject(account, project) || account.GetEmail() <= req.GetPageToken() {
			continue
		}
		if len(resp.Accounts) == size {
			resp.NextPageToken = resp.Accounts[size-1].GetEmail()
			break
		}
		resp.Accounts = append(resp.Accounts, account)
	}
	return resp, nil
}

// CreateServiceAccount implements adminpb.IAMServer.
func (s *Service) CreateServiceAccount(_ context.Context, req *adminpb.CreateServiceAccountRequest) (*adminpb.ServiceAccount, error) {
	project, ok := strings.CutPrefix(req.GetName(), "projects/")
	id := req.GetAccountId()
	switch {
	case !ok || project == "" || project == "-" || strings.Contains(project, "/"):
		return nil, status.Errorf(codes.InvalidArgument, "Invalid form of project name %s. Should be projects/PROJECT_ID.", req.GetName())
	case len(id) < 6 || len(id) > 30:
		return nil, status.Errorf(codes.InvalidArgument, "The account ID %q does not have a length between 6 and 30.", id)
	case !accountID.MatchString(id):
		return nil, status.Errorf(codes.InvalidArgument, "The account ID %q does not match the pattern [a-z]([-a-z0-9]*[a-z0-9]).", id)
	}
	if err := checkTexts(req.GetServiceAccount()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	address := email(id, project)
	name := "projects/" + project + "/serviceAccounts/" + address
	if _, exists := s.byEmail(address); exists {
		return nil, withDetails(
			status.Newf(codes.AlreadyExists, "Service account %s already exists within project projects/%s.", id, project),
			&errdetails.ResourceInfo{ResourceName: name})
	}
	uniqueID, err := newUniqueID()
	if err != nil {
		return nil, internal(err)
	}
	account := &adminpb.ServiceAccount{
		Name: name, ProjectId: project, UniqueId: uniqueID, Email: address,
		DisplayName: req.GetServiceAccount().GetDisplayName(), Description: req.GetServiceAccount().GetDescription(),
		Oauth2ClientId: uniqueID,
		Etag:           []byte(accountETag), //nolint:staticcheck // out of use, and still sent by the real service
	}
	if err := s.put(account); err != nil {
		return nil, internal(err)
	}
	return account, nil
}

func checkTexts(account *adminpb.ServiceAccount) error {
	if len(account.GetDisplayName()) > maxDisplayName {
		return status.Errorf(codes.InvalidArgument, "The display name must have no more than %d UTF-8 bytes.", maxDisplayName)
	}
	if len(account.GetDescription()) > maxDescription {
		return status.Errorf(codes.InvalidArgument, "The description must have no more than %d UTF-8 bytes.", maxDescription)
	}
	return nil
}

// PatchServiceAccount implements adminpb.IAMServer. As the real service it
// answers the name and the patched fields only.
func (s *Service) PatchServiceAccount(_ context.Context, req *adminpb.PatchServiceAccountRequest) (*adminpb.ServiceAccount, error) {
	if err := checkTexts(req.GetServiceAccount()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	account, err := s.get(req.GetServiceAccount().GetName(), "iam.serviceAccounts.update")
	if err != nil {
		return nil, err
	}
	if len(req.GetUpdateMask().GetPaths()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "The update mask is missing: name display_name, description or both.")
	}
	answer := &adminpb.ServiceAccount{Name: account.GetName()}
	for _, path := range req.GetUpdateMask().GetPaths() {
		switch path {
		case "display_name", "displayName":
			account.DisplayName = req.GetServiceAccount().GetDisplayName()
			answer.DisplayName = account.DisplayName
		case "description":
			account.Description = req.GetServiceAccount().GetDescription()
			answer.Description = account.Description
		default:
			return nil, status.Errorf(codes.InvalidArgument, "The update mask names %q: only display_name and description can be changed.", path)
		}
	}
	if err := s.put(account); err != nil {
		return nil, internal(err)
	}
	return answer, nil
}

// UpdateServiceAccount implements adminpb.IAMServer: display name and
// description are replaced.
func (s *Service) UpdateServiceAccount(_ context.Context, req *adminpb.ServiceAccount) (*adminpb.ServiceAccount, error) {
	if err := checkTexts(req); err != nil {
		return nil, err
	}
	return s.change(req.GetName(), "iam.serviceAccounts.update", func(account *adminpb.ServiceAccount) {
		account.DisplayName, account.Description = req.GetDisplayName(), req.GetDescription()
	})
}

// EnableServiceAccount implements adminpb.IAMServer.
func (s *Service) EnableServiceAccount(_ context.Context, req *adminpb.EnableServiceAccountRequest) (*emptypb.Empty, error) {
	_, err := s.change(req.GetName(), "iam.serviceAccounts.enable", func(account *adminpb.ServiceAccount) { account.Disabled = false })
	return &emptypb.Empty{}, err
}

// DisableServiceAccount implements adminpb.IAMServer.
func (s *Service) DisableServiceAccount(_ context.Context, req *adminpb.DisableServiceAccountRequest) (*emptypb.Empty, error) {
	_, err := s.change(req.GetName(), "iam.serviceAccounts.disable", func(account *adminpb.ServiceAccount) { account.Disabled = true })
	return &emptypb.Empty{}, err
}

func (s *Service) change(name, permission string, f func(*adminpb.ServiceAccount)) (*adminpb.ServiceAccount, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	account, err := s.get(name, permission)
	if err != nil {
		return nil, err
	}
	f(account)
	if err := s.put(account); err != nil {
		return nil, internal(err)
	}
	return account, nil
}

// DeleteServiceAccount implements adminpb.IAMServer. The account can be brought
// back by its unique id as long as nobody takes its address.
func (s *Service) DeleteServiceAccount(_ context.Context, req *adminpb.DeleteServiceAccountRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	account, err := s.get(req.GetName(), "iam.serviceAccounts.delete")
	if err != nil {
		return nil, err
	}
	if err := store.PutProto(s.store, deletedKeys+account.GetUniqueId(), account); err != nil {
		return nil, internal(err)
	}
	delete(s.decoded, strings.ToLower(account.GetEmail()))
	if err := s.store.Delete(liveKeys + strings.ToLower(account.GetEmail())); err != nil {
		return nil, internal(err)
	}
	return &emptypb.Empty{}, nil
}

// UndeleteServiceAccount implements adminpb.IAMServer. The name holds the unique
// id, never the e-mail.
func (s *Service) UndeleteServiceAccount(_ context.Context, req *adminpb.UndeleteServiceAccountRequest) (*adminpb.UndeleteServiceAccountResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	project, id, ok := parse(req.GetName())
	if !ok || strings.Contains(id, "@") {
		return nil, status.Errorf(codes.InvalidArgument, "Invalid form of account name %s. Should be projects/PROJECT_ID/serviceAccounts/UNIQUE_ID.", req.GetName())
	}
	account := &adminpb.ServiceAccount{}
	found, err := store.GetProto(s.store, deletedKeys+id, account)
	if err != nil {
		return nil, internal(err)
	}
	if !found || !inProject(account, project) {
		return nil, s.missing(req.GetName(), project, "iam.serviceAccounts.undelete")
	}
	if _, taken := s.byEmail(account.GetEmail()); taken {
		return nil, status.Errorf(codes.FailedPrecondition, "Service account %s was created again and cannot be undeleted.", account.GetEmail())
	}
	if err := s.put(account); err != nil {
		return nil, internal(err)
	}
	if err := s.store.Delete(deletedKeys + id); err != nil {
		return nil, internal(err)
	}
	restored, _ := proto.Clone(account).(*adminpb.ServiceAccount)
	return &adminpb.UndeleteServiceAccountResponse{RestoredAccount: restored}, nil
}
