import { Stack, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import * as z from 'zod/mini';
import { routes } from '../account.ts';
import { Failure, useForm } from './change.tsx';
import { Choice, Dialog } from './Dialog.tsx';

/** A change, as `useChange` makes it. */
interface Change<Input> {
  mutate: (input: Input) => void;
  error: Error | null;
  isPending: boolean;
}

/** A dialog with a form, which is checked by `schema` before the change. `children` gets the problem of each field. */
export function FormDialog<Schema extends z.core.$ZodType>({
  title,
  action,
  schema,
  change,
  onClose,
  children,
}: {
  title: string;
  action: string;
  schema: Schema;
  change: Change<z.output<Schema>>;
  onClose: () => void;
  children: (problemOf: (field: string) => string | undefined) => ReactNode;
}) {
  const { onSubmit, problemOf } = useForm(schema, change);
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={onSubmit} noValidate>
        <Stack>
          {children(problemOf)}
          <Failure error={change.error} />
          <Choice type="submit" isPending={change.isPending} onClose={onClose}>
            {action}
          </Choice>
        </Stack>
      </form>
    </Dialog>
  );
}

const nameFormSchema = z.object({ name: routes.createOrganization.body.shape.name });

/** A dialog that asks for a name alone. */
export function NameDialog({
  name = '',
  description,
  ...dialog
}: {
  title: string;
  action: string;
  /** The name so far. */
  name?: string;
  description?: string;
  change: Change<{ name: string }>;
  onClose: () => void;
}) {
  return (
    <FormDialog schema={nameFormSchema} {...dialog}>
      {(problemOf) => (
        <TextInput
          label="Name"
          description={description}
          name="name"
          defaultValue={name}
          error={problemOf('name')}
          required
        />
      )}
    </FormDialog>
  );
}

/** A dialog that asks before a change which takes something away. */
export function ConfirmDialog({
  title,
  action,
  change,
  onClose,
  children,
}: {
  title: string;
  action: string;
  change: Change<undefined>;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Text>{children}</Text>
      <Failure error={change.error} />
      <Choice color="red" isPending={change.isPending} onClick={() => change.mutate(undefined)} onClose={onClose}>
        {action}
      </Choice>
    </Dialog>
  );
}
