import { useMutation } from '@tanstack/react-query';
import { toProblem } from '@turnpike/config/toProblem';
import { Refused } from '@turnpike/console-api/callRoute';
import { type SubmitEvent, useState } from 'react';
import * as z from 'zod/mini';
import { queryClient } from '../account.ts';
import { useProof } from './StepUp.tsx';
import { Failed } from './states.tsx';

/**
 * Makes the mutation of a change. After it, all that pages show is read anew. A change that needs a recent proof of the user opens the
 * dialog for that, and runs again after the proof.
 */
export function useChange<Input, Answer>(
  change: (input: Input) => Promise<Answer>,
  { onDone }: { onDone?: (answer: Answer) => void } = {},
) {
  const askForProof = useProof();
  const mutation = useMutation<Answer, Error, Input>({
    mutationFn: change,
    async onSuccess(answer) {
      onDone?.(answer);
      await queryClient.invalidateQueries();
    },
    onError(error, input) {
      if (needsProof(error)) askForProof(() => mutation.mutate(input));
      // A failure of the service may come after the change.
      if (error instanceof Refused && error.status >= 500) void queryClient.invalidateQueries();
    },
  });
  return mutation;
}

const needsProof = (error: Error): boolean => error instanceof Refused && error.error === 'step_up_required';
const paramOf = (error: Error | null): string | undefined => (error instanceof Refused ? error.param : undefined);

/** The refusal of a change, unless a dialog or a field shows it. */
export function Failure({ error }: { error: Error | null }) {
  return error === null || needsProof(error) || paramOf(error) !== undefined ? null : (
    <Failed message={error.message} />
  );
}

/** Checks a form by the schema of its route's body. `problemOf` is the problem of a field, of the schema or of the service. */
export function useForm<Schema extends z.core.$ZodType>(
  schema: Schema,
  { mutate, error }: { mutate: (values: z.output<Schema>) => void; error: Error | null },
) {
  const [problem, setProblem] = useState<z.core.$ZodIssue>();
  return {
    onSubmit(event: SubmitEvent<HTMLFormElement>) {
      event.preventDefault();
      const result = z.safeParse(schema, Object.fromEntries(new FormData(event.currentTarget)), { error: toProblem });
      setProblem(result.error?.issues[0]);
      if (result.success) mutate(result.data);
    },
    problemOf(field: string): string | undefined {
      if (problem) return problem.path[0] === field ? `This field ${problem.message}.` : undefined;
      return paramOf(error) === field ? error?.message : undefined;
    },
  };
}
