import { NativeSelect, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { computeCharge, parsePrice } from '@turnpike/money/price';
import { computeUnitCharge } from '@turnpike/money/unitPrice';
import type { MediaBillingUnit } from '@turnpike/public-api/modality';
import { type RefObject, useState } from 'react';
import { Facts } from '../shell/Facts.tsx';
import { toExactUsd } from '../usd.ts';
import { type Model, mediaUnitOf, toTextPrices } from './readModels.ts';

/** Labels of the counted units of media. A price per minute counts whole seconds. */
const COUNTED: Record<MediaBillingUnit, string> = {
  image: 'Images a call',
  second: 'Seconds a call',
  minute: 'Seconds a call',
  character: 'Characters a call',
};
const DAYS_OF_MONTH = 30n;
const WHOLE = /^\d{1,9}$/;

type Amounts = Record<'prompt' | 'cachedShare' | 'completion' | 'units' | 'calls', string>;

/** Computes the cost of calls of one model, by the functions that charge calls in the services. */
export function CostCalculator({
  models,
  model,
  onChoose,
  selectRef,
}: {
  models: Model[];
  model: Model;
  onChoose: (id: string) => void;
  selectRef: RefObject<HTMLSelectElement | null>;
}) {
  const [amounts, setAmounts] = useState<Amounts>({
    prompt: '1000',
    cachedShare: '0',
    completion: '500',
    units: '1',
    calls: '1000',
  });
  const field = (name: keyof Amounts, label: string) => (
    <TextInput
      label={label}
      inputMode="numeric"
      value={amounts[name]}
      onChange={({ currentTarget }) => setAmounts({ ...amounts, [name]: currentTarget.value })}
      error={toProblem(name, amounts[name])}
    />
  );
  const unit = mediaUnitOf(model);
  const perCall = computePerCall(model, amounts);
  const perDay = perCall === undefined || !WHOLE.test(amounts.calls) ? undefined : perCall * BigInt(amounts.calls);
  const show = (nano: bigint | undefined) => (nano === undefined ? '–' : `$${toExactUsd(nano)}`);
  return (
    <Paper withBorder p="lg" component="section" aria-label="Cost calculator">
      <Stack>
        <Title order={2} size="h3">
          Cost calculator
        </Title>
        <div className="figures">
          <NativeSelect
            ref={selectRef}
            label="Model"
            data={models.map(({ id }) => id)}
            value={model.id}
            onChange={({ currentTarget }) => onChoose(currentTarget.value)}
          />
          {unit === undefined ? (
            <>
              {field('prompt', 'Input tokens a call')}
              {field('cachedShare', 'Of them cached, in per cent')}
              {field('completion', 'Output tokens a call')}
            </>
          ) : (
            field('units', COUNTED[unit])
          )}
          {field('calls', 'Calls a day')}
        </div>
        <div aria-live="polite">
          <Facts
            facts={{
              'A call': show(perCall),
              'A day': show(perDay),
              'A month of 30 days': show(perDay === undefined ? undefined : perDay * DAYS_OF_MONTH),
            }}
          />
        </div>
        <Text size="sm" c="dimmed">
          A call is charged to the billionth of a dollar. Models count tokens their own way: an English word has about
          1.3.
        </Text>
      </Stack>
    </Paper>
  );
}

function toProblem(name: keyof Amounts, text: string): string | undefined {
  if (!WHOLE.test(text)) return 'This must be a whole number.';
  return name === 'cachedShare' && Number(text) > 100 ? 'This must be at most 100.' : undefined;
}

/** Returns nano-dollars, or undefined without a price or with a wrong amount. */
function computePerCall(model: Model, { prompt, cachedShare, completion, units }: Amounts): bigint | undefined {
  const billingUnit = mediaUnitOf(model);
  if (billingUnit !== undefined) {
    const { unit_price: price } = model;
    if (price == null || toProblem('units', units)) return undefined;
    return computeUnitCharge(Number(units), { billingUnit, price: parsePrice(price) });
  }
  if (toProblem('prompt', prompt) ?? toProblem('cachedShare', cachedShare) ?? toProblem('completion', completion))
    return undefined;
  const usage = {
    promptTokens: Number(prompt),
    cachedPromptTokens: Math.floor((Number(prompt) * Number(cachedShare)) / 100),
    completionTokens: Number(completion),
    images: 0,
  };
  return computeCharge(usage, toTextPrices(model));
}
