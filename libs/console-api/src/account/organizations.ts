import * as z from 'zod/mini';
import {
  address,
  defineRoutes,
  displayName,
  done,
  idSchema,
  inOrganization,
  instant,
  role,
  TOO_MANY,
  token,
} from './accountRoute.ts';

const organizationSchema = z.object({ organization_id: z.string(), name: z.string(), role, created_at: instant });
const memberSchema = z.object({
  user_id: z.string(),
  name: z.string(),
  address: z.nullable(z.string()),
  role,
  joined_at: instant,
});
const invitationSchema = z.object({
  invitation_id: z.string(),
  address: z.string(),
  role,
  invited_by: z.string(),
  created_at: instant,
  ends_at: instant,
  status: z.enum(['open', 'accepted', 'withdrawn', 'expired']),
});
const auditSchema = z.object({
  audit_id: z.string(),
  at: instant,
  actor: z.string(),
  action: z.string(),
  target: z.string(),
  before: z.unknown(),
  after: z.unknown(),
  address: z.nullable(z.string()),
  request_id: z.nullable(z.string()),
});
const LAST_OWNER = {
  last_owner: {
    status: 409,
    message: 'An organization has an owner at all times. Make another member an owner first.',
  },
};
const ABOVE_OWN_ROLE = {
  above_own_role: { status: 403, message: 'Your role does not reach that far: owners are changed by owners alone.' },
};
const UNKNOWN_MEMBER = { unknown_member: { status: 404, message: 'There is no such member.' } };
const UNKNOWN_INVITATION = {
  unknown_invitation: { status: 404, message: 'There is no such invitation that is open.' },
};

/** The routes of organizations, their members and their audit. */
export const organizationRoutes = defineRoutes({
  createOrganization: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/organizations',
    promise: 'Makes an organization whose owner is the user. A user may belong to 20 at most.',
    body: z.object({ name: displayName }),
    status: 201,
    answer: organizationSchema,
    faults: { too_many_organizations: { status: 409, message: 'One user may belong to 20 organizations at most.' } },
  },
  listOrganizations: {
    access: { of: 'session' },
    method: 'GET',
    path: '/account/organizations',
    promise: 'Lists the organizations of the user, by name.',
    answer: z.object({ organizations: z.array(organizationSchema) }),
  },
  getOrganization: {
    access: { of: 'member', right: 'organization.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id',
    promise: 'Shows an organization and the role of the user in it.',
    params: z.object(inOrganization),
    answer: organizationSchema,
  },
  renameOrganization: {
    access: { of: 'member', right: 'organization.write' },
    method: 'PATCH',
    path: '/account/organizations/:organization_id',
    promise: 'Names an organization anew.',
    params: z.object(inOrganization),
    body: z.object({ name: displayName }),
    answer: organizationSchema,
  },
  listMembers: {
    access: { of: 'member', right: 'organization.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/members',
    promise: 'Lists the members, by the day they joined, and the names of those who have left.',
    params: z.object(inOrganization),
    answer: z.object({
      members: z.array(memberSchema),
      former_members: z._default(z.array(z.object({ user_id: z.string(), name: z.string() })), []),
    }),
  },
  changeRole: {
    access: { of: 'member', right: 'members.write', recent: true },
    method: 'PATCH',
    path: '/account/organizations/:organization_id/members/:user_id',
    promise: 'Gives a member another role, no higher than that of the user.',
    params: z.object({ ...inOrganization, user_id: idSchema }),
    body: z.object({ role }),
    answer: memberSchema,
    faults: { ...UNKNOWN_MEMBER, ...LAST_OWNER, ...ABOVE_OWN_ROLE },
  },
  removeMember: {
    access: { of: 'member', right: 'members.write', recent: true },
    method: 'DELETE',
    path: '/account/organizations/:organization_id/members/:user_id',
    promise:
      'Removes a member, who is refused here from the next request on, and by console hosts within 5 minutes. Keys that they made stay.',
    params: z.object({ ...inOrganization, user_id: idSchema }),
    answer: done,
    faults: { ...UNKNOWN_MEMBER, ...LAST_OWNER, ...ABOVE_OWN_ROLE },
  },
  leaveOrganization: {
    access: { of: 'member', right: 'organization.read' },
    method: 'POST',
    path: '/account/organizations/:organization_id/leave',
    promise: 'Ends the membership of the user.',
    params: z.object(inOrganization),
    answer: done,
    faults: LAST_OWNER,
  },
  listInvitations: {
    access: { of: 'member', right: 'members.write' },
    method: 'GET',
    path: '/account/organizations/:organization_id/invitations',
    promise: 'Lists the invitations of the last 90 days, the newest first.',
    params: z.object(inOrganization),
    answer: z.object({ invitations: z.array(invitationSchema) }),
  },
  invite: {
    access: { of: 'member', right: 'members.write', recent: true },
    method: 'POST',
    path: '/account/organizations/:organization_id/invitations',
    promise:
      'Mails an invitation for 7 days. It takes the place of an open one to the same address. An organization may send 500 in 7 days.',
    params: z.object(inOrganization),
    body: z.object({ address, role }),
    status: 201,
    answer: invitationSchema,
    faults: {
      ...ABOVE_OWN_ROLE,
      ...TOO_MANY,
      is_a_member: { status: 409, message: 'This address is that of a member already.' },
      too_many_invitations: { status: 429, message: 'An organization may send 500 invitations in 7 days at most.' },
    },
  },
  withdrawInvitation: {
    access: { of: 'member', right: 'members.write', recent: true },
    method: 'DELETE',
    path: '/account/organizations/:organization_id/invitations/:invitation_id',
    promise: 'Takes an open invitation back.',
    params: z.object({ ...inOrganization, invitation_id: idSchema }),
    answer: done,
    faults: { ...UNKNOWN_INVITATION, ...ABOVE_OWN_ROLE },
  },
  acceptInvitation: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/invitations/accept',
    promise: 'Makes the user a member, once, where the invited address is one of theirs.',
    body: z.object({ token }),
    answer: organizationSchema,
    faults: {
      ...UNKNOWN_INVITATION,
      already_joined: { status: 409, message: 'You are a member of this organization already.' },
      too_many_organizations: { status: 409, message: 'One user may belong to 20 organizations at most.' },
    },
  },
  listAudit: {
    access: { of: 'member', right: 'audit.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/audit',
    promise:
      'Lists the changes of an organization, the newest first, 100 at a time. `before` is the last id of the page before.',
    params: z.object({
      ...inOrganization,
      before: z.optional(z.string().check(z.regex(/^\d{1,18}$/, 'must be an id of a line'))),
    }),
    answer: z.object({ lines: z.array(auditSchema), next: z.nullable(z.string()) }),
  },
});
