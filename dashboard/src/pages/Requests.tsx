import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { usageConsoleApi } from '@turnpike/console-api/console/usage';
import { PAGES } from '@turnpike/console-api/pages';
import type * as z from 'zod/mini';
import { callConsole } from '../console.ts';
import { formatCount } from '../formatCount.ts';
import { useKeyNames } from '../keys/useKeyNames.ts';
import { Facts } from '../shell/Facts.tsx';
import { Code, Loaded, Moment, Name, Page, Part } from '../shell/states.tsx';
import { WideTable } from '../shell/WideTable.tsx';
import { useWorkspace } from '../shell/workspace.tsx';
import { nanoTextToUsd, toExactUsd } from '../usd.ts';

const { routes } = usageConsoleApi;
type Call = z.output<typeof routes.getCall.answer>;
type CostLine = NonNullable<Call['cost']>[number];

/** A call id, by itself or in the id of an answer. */
const CALL_ID = /[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}/;
const toCallId = (text: string): string | undefined => CALL_ID.exec(text.toLowerCase())?.[0];

/** One call of a workspace, with the arithmetic of its cost. */
export function Requests() {
  const workspace = useWorkspace();
  const navigate = useNavigate({ from: PAGES.requests });
  const { id = '' } = useSearch({ from: `/shell/workspace${PAGES.requests}` });
  const callId = toCallId(id);
  const query = useQuery({
    queryKey: ['call', workspace.workspaceId, callId],
    enabled: callId !== undefined,
    queryFn: () => callConsole(workspace, routes.getCall, { params: { call_id: callId ?? '' } }),
  });
  return (
    <Page title="Requests">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          const given = String(new FormData(event.currentTarget).get('id') ?? '').trim();
          if (given === id) void query.refetch();
          else void navigate({ search: { id: given } });
        }}
      >
        <Stack align="stretch">
          <TextInput
            // Another address of the page has another id.
            key={id}
            label="Id of the request"
            description="The header x-router-call-id of the answer, or the id in its body, as in chatcmpl-0198c2f0-…"
            name="id"
            autoComplete="off"
            spellCheck={false}
            defaultValue={id}
            error={id !== '' && callId === undefined && 'This contains no call id. Copy the whole id from the answer.'}
            required
          />
          <Group>
            <Button type="submit">Show the request</Button>
          </Group>
        </Stack>
      </form>
      {callId !== undefined && <Loaded query={query}>{(call) => <CallOf call={call} />}</Loaded>}
    </Page>
  );
}

function CallOf({ call }: { call: Call }) {
  const keyNames = useKeyNames([call.key_id]);
  const seconds = (Date.parse(call.ended_at) - Date.parse(call.started_at)) / 1_000;
  return (
    <>
      <Part title="Call">
        <Facts
          facts={{
            'Call id': <Code>{call.call_id}</Code>,
            Status: `${STATUS_NAMES[call.status]}${call.reason === null ? '' : ` (${call.reason})`}`,
            Operation: `${call.operation}${call.is_stream ? ', streamed' : ''}`,
            Model: <Name>{call.canonical_model}</Name>,
            Key: <Name>{keyNames(call.key_id)}</Name>,
            Began: <Moment at={call.started_at} />,
            Took: `${formatCount(seconds)} s`,
            Recorded: <Moment at={call.recorded_at} />,
          }}
        />
      </Part>
      <Part title={call.units === null ? 'Tokens' : 'Amount'}>
        <Facts
          facts={
            call.units === null
              ? {
                  'Prompt tokens': formatCount(call.prompt_tokens),
                  'Of them cached': formatCount(call.cached_prompt_tokens),
                  'Completion tokens': formatCount(call.completion_tokens),
                  ...(call.prompt_images > 0 && { 'Images in the prompt': formatCount(call.prompt_images) }),
                }
              : { [UNIT_NAMES[call.billing_unit]]: formatCount(call.units) }
          }
        />
      </Part>
      <Cost call={call} />
    </>
  );
}

const STATUS_NAMES: Record<Call['status'], string> = {
  success: 'Success',
  failure: 'Failure',
  unknown: 'Not known: the region did not learn how the call ended',
};
const UNIT_NAMES: Record<Call['billing_unit'], string> = {
  token: 'Tokens',
  image: 'Images',
  second: 'Seconds',
  minute: 'Seconds',
  character: 'Characters',
};

/** The lines of the cost, whose amounts add up to the charge. */
function Cost({ call }: { call: Call }) {
  const { cost, price_version: version, charge_nano_usd: charge, hold_nano_usd: hold } = call;
  return (
    <Part title="Cost">
      {cost === null && (
        <Text>
          The prices of version {version} cannot be read at the moment, so only the charge is known. Load the page again
          in a minute.
        </Text>
      )}
      {cost?.length === 0 && <Text>This call costs nothing.</Text>}
      <WideTable label="Cost" columns={['Item', 'Quantity', 'Price', 'Amount']}>
        {cost?.map((line) => (
          <tr key={line.item}>
            <td>{ITEM_NAMES[line.item]}</td>
            <td>{line.quantity === null ? '' : formatCount(line.quantity)}</td>
            <td>{toPrice(line)}</td>
            <td>{nanoTextToUsd(line.amount_nano_usd)}</td>
          </tr>
        ))}
        <tr>
          <th scope="row" colSpan={3}>
            Charge
          </th>
          <td>
            <b>${toExactUsd(BigInt(charge))}</b>
          </td>
        </tr>
      </WideTable>
      <Text size="sm" c="dimmed">
        Prices are those of version {version}. While the call ran, ${toExactUsd(BigInt(hold))} was held for it.
      </Text>
    </Part>
  );
}

const toPrice = ({ unit_price_usd: price, per }: CostLine): string =>
  price === null ? '' : `$${price}${per === null || per === 1 ? ' each' : ` for ${per}`}`;

const ITEM_NAMES: Record<CostLine['item'], string> = {
  uncached_prompt_tokens: 'Prompt tokens, not cached',
  cached_prompt_tokens: 'Prompt tokens, cached',
  completion_tokens: 'Completion tokens',
  prompt_images: 'Images in the prompt',
  request: 'Request',
  images: 'Images',
  seconds: 'Seconds',
  characters: 'Characters',
  rounding: 'Rounding to whole nano-dollars',
  hold_limit: 'Above the hold, not charged',
};
