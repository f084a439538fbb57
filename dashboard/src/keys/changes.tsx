import { Button, Group, NativeSelect, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Refused } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { useRef, useState } from 'react';
import * as z from 'zod/mini';
import { queryClient } from '../account.ts';
import { makeApiKey } from '../apiKey.ts';
import { callConsole, type Key, keyRoutes } from '../console.ts';
import { Failure, useChange } from '../shell/change.tsx';
import { Dialog } from '../shell/Dialog.tsx';
import { ConfirmDialog, FormDialog } from '../shell/dialogs.tsx';
import { KeyFields, keyFormSchema, toKeyTexts } from '../shell/KeyFields.tsx';
import { Snippet } from '../shell/Snippet.tsx';
import { Moment, Name } from '../shell/states.tsx';
import { RowButton } from '../shell/WideTable.tsx';
import { useNewSecret, useWorkspace } from '../shell/workspace.tsx';
import { toLabel } from './keyStates.ts';

interface OfKey {
  apiKey: Key;
  onClose: () => void;
}
type KeyForm = z.output<typeof keyFormSchema>;

/**
 * Makes the secret of a dialog once, so that a repeated request is known as such, and shows it after `send` is done. After a lost answer
 * the region may have the secret, so it is shown as well once the dialog is left.
 */
function useSecretChange<Fields>(send: (hash: NewHash, fields: Fields) => Promise<unknown>, leave: () => void) {
  const { workspaceId } = useWorkspace();
  const [, setSecret] = useNewSecret();
  const [made] = useState(makeApiKey);
  const isLeft = useRef(false);
  const isInDoubt = useRef(false);
  const showLost = async () => {
    setSecret({ text: (await made).secret, isLost: true });
    await queryClient.invalidateQueries({ queryKey: ['keys', workspaceId] });
  };
  const change = useChange(
    async (fields: Fields) => {
      const { secret, ...hash } = await made;
      await send(hash, fields).catch((error: unknown) => {
        isInDoubt.current ||= isLost(error);
        if (isLeft.current && isInDoubt.current) void showLost();
        throw error;
      });
      return secret;
    },
    {
      onDone(text) {
        setSecret({ text });
        leave();
      },
    },
  );
  const onClose = () => {
    isLeft.current = true;
    if (isInDoubt.current) void showLost();
    leave();
  };
  return { change, onClose };
}

type NewHash = Omit<Awaited<ReturnType<typeof makeApiKey>>, 'secret'>;

/** Returns whether a change may have taken place in spite of an error. */
const isLost = (error: unknown): boolean => error instanceof Refused && (error.status < 400 || error.status >= 500);
const isRefusal = (error: unknown, reason: string): boolean => error instanceof Refused && error.error === reason;

export function CreateKey({ onClose: leave }: { onClose: () => void }) {
  const workspace = useWorkspace();
  const { change, onClose } = useSecretChange(async (hash, fields: KeyForm) => {
    await callConsole(workspace, keyRoutes.createKey, { body: { ...hash, ...fields } }).catch((error: unknown) => {
      // The first answer of a repeated request was lost.
      if (!isRefusal(error, 'key_already_registered')) throw error;
    });
  }, leave);
  return (
    <FormDialog title="Create a key" action="Create the key" schema={keyFormSchema} change={change} onClose={onClose}>
      {(problemOf) => <KeyFields problemOf={problemOf} />}
    </FormDialog>
  );
}

/** Sends the changed fields alone, so that the form sets no field to what it rounds or has read long ago. */
export function EditKey({ apiKey, onClose }: OfKey) {
  const workspace = useWorkspace();
  const [texts] = useState(() => toKeyTexts(apiKey));
  const edit = useChange(
    (fields: KeyForm) => {
      const before: Partial<KeyForm> = z.safeParse(keyFormSchema, texts).data ?? {};
      const changed = Object.entries(fields).filter(
        ([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field as keyof KeyForm]),
      );
      const body: Partial<KeyForm> = Object.fromEntries(changed);
      return callConsole(workspace, keyRoutes.updateKey, { params: { key_id: apiKey.key_id }, body });
    },
    { onDone: onClose },
  );
  return (
    <FormDialog title="Edit a key" action="Save" schema={keyFormSchema} change={edit} onClose={onClose}>
      {(problemOf) => (
        <>
          <Text>Calls have the new limits from the next one on. Calls in progress go on.</Text>
          <KeyFields texts={texts} problemOf={problemOf} />
        </>
      )}
    </FormDialog>
  );
}

const HOUR = 3_600;
/** Times for which an old secret may work, in seconds. The longest is that of the route. */
const GRACES = [
  { value: '0', label: 'It ends at once' },
  { value: `${HOUR}`, label: '1 hour' },
  { value: `${24 * HOUR}`, label: '1 day' },
  { value: `${7 * 24 * HOUR}`, label: '7 days' },
  { value: `${30 * 24 * HOUR}`, label: '30 days' },
  { value: `${90 * 24 * HOUR}`, label: '90 days' },
];
const rotateFormSchema = z.object({ grace_seconds: z.pipe(z.string(), z.transform(Number)) });

export function RotateKey({ apiKey, onClose: leave }: OfKey) {
  const workspace = useWorkspace();
  const [grace, setGrace] = useState(`${24 * HOUR}`);
  const params = { key_id: apiKey.key_id };
  const { change, onClose } = useSecretChange(async (hash, { grace_seconds }: z.output<typeof rotateFormSchema>) => {
    try {
      await callConsole(workspace, keyRoutes.rotateKey, { params, body: { ...hash, grace_seconds } });
    } catch (error) {
      // The first answer of a repeated request may have been lost. A change of nothing returns the key.
      if (!isRefusal(error, 'key_has_two_secrets') && !isRefusal(error, 'key_already_registered')) throw error;
      const { last_four: end } = await callConsole(workspace, keyRoutes.updateKey, { params, body: {} });
      if (end !== hash.last_four) throw error;
    }
  }, leave);
  const { expires_at: expiresAt, last_four: end } = apiKey;
  const graceEndsAt = new Date(Date.now() + Number(grace) * 1_000).toISOString();
  const oldEndsAt = expiresAt !== null && expiresAt < graceEndsAt ? expiresAt : graceEndsAt;
  return (
    <FormDialog
      title="Rotate the secret"
      action="Make the new secret"
      schema={rotateFormSchema}
      change={change}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          <Text>
            <Name>{apiKey.name}</Name> gets a new secret and keeps its limits, budget and history. Your browser makes
            the secret, and shows it once.
          </Text>
          <NativeSelect
            label="The old secret works for"
            name="grace_seconds"
            data={GRACES}
            value={grace}
            onChange={({ currentTarget }) => setGrace(currentTarget.value)}
            error={problemOf('grace_seconds')}
          />
          <Text role="status">
            {grace === '0' ? (
              `Calls with sk-...${end} are refused at once, after 30 seconds at the latest.`
            ) : (
              <>
                sk-...{end} works beside the new secret until <Moment at={oldEndsAt} />.
              </>
            )}
          </Text>
        </>
      )}
    </FormDialog>
  );
}

/** Shows a new secret, which nothing keeps once the dialog is closed. Its button alone closes it. */
export function NewSecret() {
  const { organizationId, workspaceId } = useWorkspace();
  const [secret, setSecret] = useNewSecret();
  if (secret === undefined) return null;
  return (
    <Dialog title={secret.isLost ? 'Keep this secret until you know' : 'Copy the secret now'}>
      <Text>
        {secret.isLost
          ? 'The region did not answer, so the key may have this secret by now. Copy it, and look whether the list of keys has its last four characters.'
          : 'Turnpike does not keep this secret and cannot show it again. Keep it where your program reads it. If it is lost, rotate the key.'}
      </Text>
      <Snippet label="Secret of the key" text={secret.text} />
      <Group justify="flex-end">
        {!secret.isLost && (
          <Link to={PAGES.overview} params={{ organizationId, workspaceId }} className="link">
            Use it in a first call
          </Link>
        )}
        <Button onClick={() => setSecret(undefined)}>I have copied it. It cannot be shown again.</Button>
      </Group>
    </Dialog>
  );
}

export function EndOldSecret({ apiKey, onClose }: OfKey) {
  const workspace = useWorkspace();
  const end = useChange(() => callConsole(workspace, keyRoutes.endOldSecret, { params: { key_id: apiKey.key_id } }), {
    onDone: onClose,
  });
  return (
    <ConfirmDialog title="End the old secret" action="End it now" change={end} onClose={onClose}>
      Every call with sk-...{apiKey.old_secret?.last_four} is refused from the next one on. The new secret, sk-...
      {apiKey.last_four}, works on. This cannot be undone.
    </ConfirmDialog>
  );
}

export function RevokeKey({ apiKey, onClose }: OfKey) {
  const workspace = useWorkspace();
  const revoke = useChange(() => callConsole(workspace, keyRoutes.revokeKey, { params: { key_id: apiKey.key_id } }), {
    onDone: onClose,
  });
  return (
    <ConfirmDialog title="Revoke a key" action="Revoke for good" change={revoke} onClose={onClose}>
      Every call with <Name>{toLabel(apiKey)}</Name> is refused from the next one on. This cannot be undone.
    </ConfirmDialog>
  );
}

/** Blocks a key, or admits its calls again. Neither is final, so no dialog asks. The operator's block has no button. */
export function BlockButton({ apiKey }: { apiKey: Key }) {
  const workspace = useWorkspace();
  const isBlocked = apiKey.status === 'blocked';
  const change = useChange(() =>
    callConsole(workspace, isBlocked ? keyRoutes.unblockKey : keyRoutes.blockKey, {
      params: { key_id: apiKey.key_id },
    }),
  );
  if (apiKey.blocked_by === 'operator') return null;
  const name = isBlocked ? 'Unblock' : 'Block';
  return (
    <>
      <RowButton
        label={`${name} ${toLabel(apiKey)}`}
        loading={change.isPending}
        onClick={() => change.mutate(undefined)}
      >
        {name}
      </RowButton>
      <Failure error={change.error} />
    </>
  );
}
