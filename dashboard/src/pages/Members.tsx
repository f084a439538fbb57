import { Button, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import type { accountApi } from '@turnpike/console-api/accountApi';
import { callRoute } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight, isWithin, type Role } from '@turnpike/console-api/roles';
import { useState } from 'react';
import type { output } from 'zod/mini';
import { invitationsQuery, membersQuery, organizationQuery, routes, userQuery } from '../account.ts';
import { useChange } from '../shell/change.tsx';
import { ConfirmDialog, FormDialog } from '../shell/dialogs.tsx';
import { RoleChoice } from '../shell/RoleChoice.tsx';
import { ROLE_NAMES } from '../shell/roleNames.ts';
import { Badge, Empty, Loaded, Moment, Name, Page } from '../shell/states.tsx';
import { useMemberNames } from '../shell/useMemberNames.ts';
import { RowButton, WideTable } from '../shell/WideTable.tsx';

type Member = output<typeof accountApi.routes.listMembers.answer>['members'][number];
type Invitation = output<typeof accountApi.routes.listInvitations.answer>['invitations'][number];

/** The members of an organization and those whom it invited, with what the role of the user may change. */
export function Members() {
  const { organizationId } = useParams({ from: `/shell${PAGES.members}` });
  const organization = useQuery(organizationQuery(organizationId));
  const user = useQuery(userQuery);
  const members = useQuery(membersQuery(organizationId));
  const [isInviting, setInviting] = useState(false);
  const [changed, setChanged] = useState<Member>();
  const [removed, setRemoved] = useState<Member>();
  const own = organization.data?.role;
  const mayWrite = own !== undefined && hasRight(own, 'members.write');
  return (
    <Page title="Members" action={mayWrite && <Button onClick={() => setInviting(true)}>Invite a member</Button>}>
      <Loaded query={members}>
        {({ members }) => (
          <WideTable label="Members" columns={['Member', 'Role', 'Joined', 'Actions']}>
            {members.map((member) => {
              const isSelf = member.user_id === user.data?.user_id;
              const isInReach = mayWrite && isWithin(member.role, own);
              const label = member.address ?? member.name;
              return (
                <tr key={member.user_id}>
                  <td>
                    <Name>{member.name}</Name>
                    {isSelf && ' (you)'}
                    {member.address !== null && member.address !== member.name && (
                      <Text size="sm" c="dimmed">
                        <Name>{member.address}</Name>
                      </Text>
                    )}
                  </td>
                  <td>
                    <Badge>{ROLE_NAMES[member.role]}</Badge>
                  </td>
                  <td>
                    <Moment at={member.joined_at} />
                  </td>
                  <td>
                    <Group gap="xs" wrap="nowrap">
                      {isInReach && (
                        <RowButton label={`Change role of ${label}`} onClick={() => setChanged(member)}>
                          Change role
                        </RowButton>
                      )}
                      {(isSelf || isInReach) && (
                        <RowButton
                          label={isSelf ? 'Leave the organization' : `Remove ${label}`}
                          onClick={() => setRemoved(member)}
                        >
                          {isSelf ? 'Leave' : 'Remove'}
                        </RowButton>
                      )}
                    </Group>
                  </td>
                </tr>
              );
            })}
          </WideTable>
        )}
      </Loaded>
      {mayWrite && <Invitations organizationId={organizationId} own={own} onInvite={() => setInviting(true)} />}
      {isInviting && own && <Invite organizationId={organizationId} own={own} onClose={() => setInviting(false)} />}
      {changed && own && (
        <ChangeRole organizationId={organizationId} member={changed} own={own} onClose={() => setChanged(undefined)} />
      )}
      {removed && (
        <Remove
          organizationId={organizationId}
          member={removed}
          isSelf={removed.user_id === user.data?.user_id}
          onClose={() => setRemoved(undefined)}
        />
      )}
    </Page>
  );
}

function Invitations({ organizationId, own, onInvite }: { organizationId: string; own: Role; onInvite: () => void }) {
  const query = useQuery(invitationsQuery(organizationId));
  const nameOf = useMemberNames(organizationId);
  const [withdrawn, setWithdrawn] = useState<Invitation>();
  return (
    <Stack>
      <Title order={2} size="h3">
        Invitations
      </Title>
      <Loaded query={query}>
        {({ invitations }) =>
          invitations.length === 0 ? (
            <Empty>
              <Text>
                There is no invitation of the last 90 days. An invitation is a link for one address, which works for 7
                days.
              </Text>
              <Button variant="default" onClick={onInvite}>
                Invite a member
              </Button>
            </Empty>
          ) : (
            <WideTable label="Invitations" columns={['Address', 'Role', 'Invited by', 'Ends', 'Status', 'Actions']}>
              {invitations.map((invitation) => (
                <tr key={invitation.invitation_id}>
                  <td>
                    <Name>{invitation.address}</Name>
                  </td>
                  <td>
                    <Badge>{ROLE_NAMES[invitation.role]}</Badge>
                  </td>
                  <td>
                    <Name>{nameOf(invitation.invited_by) ?? 'a former member'}</Name>
                  </td>
                  <td>
                    <Moment at={invitation.ends_at} />
                  </td>
                  <td>{STATUS_NAMES[invitation.status]}</td>
                  <td>
                    {invitation.status === 'open' && isWithin(invitation.role, own) && (
                      <RowButton
                        label={`Withdraw the invitation of ${invitation.address}`}
                        onClick={() => setWithdrawn(invitation)}
                      >
                        Withdraw
                      </RowButton>
                    )}
                  </td>
                </tr>
              ))}
            </WideTable>
          )
        }
      </Loaded>
      {withdrawn && (
        <Withdraw organizationId={organizationId} invitation={withdrawn} onClose={() => setWithdrawn(undefined)} />
      )}
    </Stack>
  );
}

const STATUS_NAMES: Record<Invitation['status'], string> = {
  open: 'Open',
  accepted: 'Accepted',
  withdrawn: 'Withdrawn',
  expired: 'Expired',
};

interface DialogProps {
  organizationId: string;
  onClose: () => void;
}

function Invite({ organizationId, own, onClose }: DialogProps & { own: Role }) {
  const invite = useChange(
    (body: { address: string; role: Role }) =>
      callRoute(routes.invite, { params: { organization_id: organizationId }, body }),
    { onDone: onClose },
  );
  return (
    <FormDialog
      title="Invite a member"
      action="Send the invitation"
      schema={routes.invite.body}
      change={invite}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          <TextInput
            label="E-mail address"
            description="Only a user who reads the mail of this address can accept, within 7 days."
            name="address"
            type="email"
            autoComplete="off"
            error={problemOf('address')}
            required
          />
          <RoleChoice own={own} initial="developer" />
        </>
      )}
    </FormDialog>
  );
}

function ChangeRole({ organizationId, member, own, onClose }: DialogProps & { member: Member; own: Role }) {
  const change = useChange(
    (body: { role: Role }) =>
      callRoute(routes.changeRole, {
        params: { organization_id: organizationId, user_id: member.user_id },
        body,
      }),
    { onDone: onClose },
  );
  return (
    <FormDialog
      title="Change a role"
      action="Change the role"
      schema={routes.changeRole.body}
      change={change}
      onClose={onClose}
    >
      {() => (
        <>
          <Text>
            The new role of <Name>{member.name}</Name> counts from the next request on.
          </Text>
          <RoleChoice own={own} initial={member.role} />
        </>
      )}
    </FormDialog>
  );
}

function Remove({ organizationId, member, isSelf, onClose }: DialogProps & { member: Member; isSelf: boolean }) {
  const navigate = useNavigate();
  const params = { organization_id: organizationId };
  const remove = useChange(
    () =>
      isSelf
        ? callRoute(routes.leaveOrganization, { params })
        : callRoute(routes.removeMember, { params: { ...params, user_id: member.user_id } }),
    { onDone: () => (isSelf ? void navigate({ to: PAGES.organizations }) : onClose()) },
  );
  return (
    <ConfirmDialog
      title={isSelf ? 'Leave the organization' : 'Remove a member'}
      action={isSelf ? 'Leave' : 'Remove'}
      change={remove}
      onClose={onClose}
    >
      {isSelf ? (
        'You lose access at once. Only a new invitation brings you back.'
      ) : (
        <>
          <Name>{member.name}</Name> loses access at once. Keys that this member made stay.
        </>
      )}
    </ConfirmDialog>
  );
}

function Withdraw({ organizationId, invitation, onClose }: DialogProps & { invitation: Invitation }) {
  const withdraw = useChange(
    () =>
      callRoute(routes.withdrawInvitation, {
        params: { organization_id: organizationId, invitation_id: invitation.invitation_id },
      }),
    { onDone: onClose },
  );
  return (
    <ConfirmDialog title="Withdraw an invitation" action="Withdraw" change={withdraw} onClose={onClose}>
      The link in the mail to <Name>{invitation.address}</Name> stops working at once.
    </ConfirmDialog>
  );
}
