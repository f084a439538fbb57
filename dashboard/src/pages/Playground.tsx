import { Button, Group, NativeSelect, Paper, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import { useState } from 'react';
import * as z from 'zod/mini';
import { listChatModels, type Model, modelsQuery } from '../models/readModels.ts';
import { type Answer, type Exchange, useChat } from '../playground/useChat.ts';
import { useForm } from '../shell/change.tsx';
import { Empty, Failed, Loaded, Name, NoRight, Page } from '../shell/states.tsx';
import { useWorkspace } from '../shell/workspace.tsx';
import { toExactUsd } from '../usd.ts';

/** Chat with the models of the region, by a key that lives as long as the page. */
export function Playground() {
  const { role, consoleUrl, region } = useWorkspace();
  const query = useQuery(modelsQuery(consoleUrl));
  return (
    <Page title="Playground">
      {!hasRight(role, 'keys.write') ? (
        <NoRight message="The playground makes an API key, and your role does not make keys. Ask an owner." />
      ) : (
        <Loaded query={query}>
          {(all) => {
            const models = listChatModels(all);
            return models.length > 0 ? (
              <Chat models={models} />
            ) : (
              <Empty>
                <Text>This region has no ready chat model at the moment.</Text>
                <Link to={PAGES.models} search={{ region }} className="link">
                  Models of this region
                </Link>
              </Empty>
            );
          }}
        </Loaded>
      )}
    </Page>
  );
}

const whole = (least: number, most: number) =>
  z.pipe(
    z.string().check(z.trim(), z.regex(/^\d{1,9}$/, 'must be a whole number')),
    z.pipe(z.transform(Number), z.number().check(z.minimum(least), z.maximum(most))),
  );
const formSchema = z.object({
  model: z.string(),
  system: z.string(),
  max_tokens: whole(1, 1_000_000),
  temperature: z.pipe(
    z.string().check(z.trim(), z.regex(/^[01](\.\d{1,3})?$|^2(\.0{1,3})?$/, 'must be a number from 0 to 2')),
    z.transform(Number),
  ),
  question: z.string().check(z.minLength(1, 'must not be empty')),
});

function Chat({ models }: { models: Model[] }) {
  const { exchanges, isStreaming, send, stop, clear } = useChat();
  const [question, setQuestion] = useState('');
  const { onSubmit, problemOf } = useForm(formSchema, {
    mutate({ model: id, system, max_tokens: maxTokens, temperature, question: asked }) {
      const model = models.find((each) => each.id === id);
      if (!model || isStreaming) return;
      setQuestion('');
      void send(asked, model, { system, maxTokens, temperature });
    },
    error: null,
  });
  return (
    <>
      <Text c="dimmed">
        Calls here are charged as any other call, to a key named Playground that may spend $1. The key is revoked when
        you leave this page, and expires after 10 minutes. Nothing of the conversation is kept.
      </Text>
      <form onSubmit={onSubmit} noValidate>
        <Stack>
          <div className="figures">
            <NativeSelect label="Model" name="model" data={models.map(({ id }) => id)} />
            <TextInput
              label="Max tokens"
              name="max_tokens"
              inputMode="numeric"
              defaultValue="1024"
              error={problemOf('max_tokens')}
            />
            <TextInput
              label="Temperature"
              name="temperature"
              inputMode="decimal"
              defaultValue="1"
              error={problemOf('temperature')}
            />
          </div>
          <Textarea label="System text" name="system" rows={2} dir="auto" />
          <section aria-label="Conversation" aria-live="polite" aria-busy={isStreaming}>
            <Stack>
              {exchanges.map((exchange, nth) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: exchanges are only added at the end
                <ExchangeOf key={nth} exchange={exchange} />
              ))}
            </Stack>
          </section>
          <Textarea
            label="Message"
            name="question"
            rows={3}
            dir="auto"
            value={question}
            onChange={({ currentTarget }) => setQuestion(currentTarget.value)}
            error={problemOf('question')}
          />
          <Group>
            {isStreaming ? (
              <Button
                color="red"
                onClick={(event) => {
                  // The button may submit the form by the time that the click takes effect.
                  event.preventDefault();
                  stop();
                }}
              >
                Stop
              </Button>
            ) : (
              <Button type="submit">Send</Button>
            )}
            {exchanges.length > 0 && !isStreaming && (
              <Button variant="default" onClick={clear}>
                Start over
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </>
  );
}

function ExchangeOf({ exchange: { question, answer } }: { exchange: Exchange }) {
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        <Said by="You" text={question} />
        {answer.reasoning !== '' && (
          <details open={answer.text === ''}>
            <summary>Reasoning</summary>
            <Words text={answer.reasoning} />
          </details>
        )}
        <Said by="Model" text={answer.text} />
        <End answer={answer} />
      </Stack>
    </Paper>
  );
}

const Said = ({ by, text }: { by: string; text: string }) => (
  <div>
    <Title order={2} size="h5">
      {by}
    </Title>
    <Words text={text} />
  </div>
);

const Words = ({ text }: { text: string }) => (
  <Text dir="auto" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
    {text}
  </Text>
);

const STATES: Record<Answer['state'], string> = {
  streaming: 'The answer is on its way.',
  whole: 'The answer is whole.',
  stopped: 'You stopped the answer. The Requests page shows its charge.',
  refused: 'The call was refused and costs nothing.',
  failed: 'The answer failed.',
};

/** The state and the cost of an answer, and what went wrong. */
function End({ answer: { state, isCut, cost, callId, error } }: { answer: Answer }) {
  const { organizationId, workspaceId } = useWorkspace();
  return (
    <>
      {error && (
        <>
          <Failed message={error.message} />
          <Link to={PAGES.refusedCalls} className="link">
            Why are calls refused?
          </Link>
        </>
      )}
      <Text size="sm" c="dimmed">
        {state === 'whole' && isCut ? 'The answer ends here because max tokens allows no more.' : STATES[state]}{' '}
        {cost.isEstimate
          ? cost.nano > 0n && `Estimate of the output so far: $${toExactUsd(cost.nano)}.`
          : `Cost: $${toExactUsd(cost.nano)}.`}{' '}
        {callId !== undefined && state !== 'refused' && (
          <Link to={PAGES.requests} params={{ organizationId, workspaceId }} search={{ id: callId }} className="link">
            Show the request <Name>{callId}</Name>
          </Link>
        )}
      </Text>
    </>
  );
}
