import { Text } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { KEY_STATES } from '@turnpike/console-api/console/keys';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import { creditQuery, headroomQuery, type Key } from '../console.ts';
import { formatCount } from '../formatCount.ts';
import { KeyList } from '../keys/KeyList.tsx';
import { STATE_NAMES, stateOf } from '../keys/keyStates.ts';
import { Use, UsedBudget, UsedRate } from '../keys/Use.tsx';
import { Facts } from '../shell/Facts.tsx';
import { Code, Empty, Failed, Loaded, Moment, Name, Page, Part, Usd } from '../shell/states.tsx';
import { WideTable } from '../shell/WideTable.tsx';
import { useWorkspace } from '../shell/workspace.tsx';

/** Rows that the table shows at a time. Each reads its live use by a request of its own. */
const ROWS = 20;

/** The limits of a workspace and of its keys, with the use of each now. */
export function Limits() {
  const { role } = useWorkspace();
  return (
    <Page title="Limits">
      <WorkspaceLimits />
      {hasRight(role, 'keys.read') && <KeyLimits />}
      <Beyond />
    </Page>
  );
}

function WorkspaceLimits() {
  const workspace = useWorkspace();
  const query = useQuery({ ...creditQuery(workspace), refetchInterval: 10_000 });
  return (
    <Part title="Of the workspace">
      <Loaded query={query}>
        {({
          credit_nano_usd: credit,
          held_nano_usd: held,
          month_spend_nano_usd: spent,
          monthly_cap_nano_usd: cap,
          month_ends_at: endsAt,
        }) => (
          <Facts
            facts={{
              Credit: (
                <Text size="sm">
                  <Usd nano={BigInt(credit)} />, of which <Usd nano={BigInt(held)} /> is held for calls in progress
                </Text>
              ),
              'Cap of this month':
                cap === null ? (
                  <Text size="sm">
                    <Usd nano={BigInt(spent)} /> spent, no cap
                  </Text>
                ) : (
                  <Use label="Cap of this month" used={BigInt(spent)} limit={BigInt(cap)}>
                    <Usd nano={BigInt(spent)} /> of <Usd nano={BigInt(cap)} /> spent
                  </Use>
                ),
              'The month ends': (
                <Text size="sm">
                  <Moment at={endsAt} />
                </Text>
              ),
            }}
          />
        )}
      </Loaded>
    </Part>
  );
}

/** The states of keys that calls could use, or may use again. */
const USABLE = KEY_STATES.filter((state) => state !== 'revoked');

function KeyLimits() {
  const { organizationId, workspaceId } = useWorkspace();
  return (
    <Part title="Of each key">
      <KeyList
        states={USABLE}
        rows={ROWS}
        empty={
          <Empty>
            <Text>This workspace has no key that calls could use.</Text>
            <Link to={PAGES.keys} params={{ organizationId, workspaceId }} className="link">
              Create a key
            </Link>
          </Empty>
        }
      >
        {(keys) => <Rows keys={keys} />}
      </KeyList>
    </Part>
  );
}

/** Rows of keys with the use of each. */
function Rows({ keys }: { keys: Key[] }) {
  const workspace = useWorkspace();
  const { organizationId, workspaceId } = workspace;
  const reads = useQueries({ queries: keys.map((key) => headroomQuery(workspace, key.key_id)) });
  const failed = reads.filter(({ error }) => error !== null);
  const [first] = failed;
  return (
    <>
      {first?.error && (
        <Failed
          message={`The use of ${formatCount(failed.length)} ${failed.length === 1 ? 'key' : 'keys'} could not be read. ${first.error.message} Rows show what was read before.`}
          retry={() => {
            for (const { refetch } of failed) void refetch();
          }}
        />
      )}
      <WideTable label="Limits of keys" columns={['Key', 'Requests this minute', 'Tokens this minute', 'Budget']}>
        {keys.map((key, index) => {
          const headroom = reads[index]?.data;
          return (
            <tr key={key.key_id}>
              <td>
                <Link to={PAGES.key} params={{ organizationId, workspaceId, keyId: key.key_id }} className="link">
                  <Name>{key.name}</Name>
                </Link>
                {stateOf(key) !== 'active' && <Text size="sm">{STATE_NAMES[stateOf(key)]}</Text>}
              </td>
              <td>
                <UsedRate label="Requests this minute" used={headroom?.used_requests} limit={key.rpm} />
              </td>
              <td>
                <UsedRate label="Tokens this minute" used={headroom?.used_tokens} limit={key.tpm} />
              </td>
              <td>{headroom ? <UsedBudget headroom={headroom} /> : '–'}</td>
            </tr>
          );
        })}
      </WideTable>
    </>
  );
}

/** The answer to a call beyond each limit. */
function Beyond() {
  const { organizationId, role } = useWorkspace();
  return (
    <Part title="Beyond a limit">
      <ul className="list">
        <li>
          <b>Requests or tokens a minute:</b> the call is refused with 429 <Code>rate_limit_exceeded</Code>. The header{' '}
          <Code>retry-after</Code> has the seconds to wait. Both limits refill all the time.
        </li>
        <li>
          <b>Budget of a key, credit, or cap of the month:</b> a call that may cost more than is left is refused with
          402 <Code>insufficient_balance</Code>, and <Code>limited_by</Code> names the limit.
        </li>
        <li>
          <b>A cap that is spent:</b> calls are refused with 402 <Code>spend_cap_reached</Code> until the month ends, in
          UTC.{' '}
          {hasRight(role, 'workspaces.change') ? (
            <Link to={PAGES.workspaces} params={{ organizationId }} className="link">
              Change the cap
            </Link>
          ) : (
            'An owner or admin can change the cap.'
          )}
        </li>
        <li>
          <b>Queued media jobs:</b> a key has at most 500 of one model, unless the operator set another number. A job
          beyond them is refused with 429 <Code>rate_limit_exceeded</Code>.
        </li>
        <li>
          <b>Calls at once:</b> their number has no limit. Each holds its largest possible cost and takes a request of
          the minute.
        </li>
      </ul>
      <Text>
        A refused call costs nothing.{' '}
        <Link to={PAGES.refusedCalls} className="link">
          Why was my call refused?
        </Link>
      </Text>
    </Part>
  );
}
