import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { REGIONS } from '@turnpike/config/region';
import { PAGES } from '@turnpike/console-api/pages';
import { ATTO_DIGITS, parsePrice } from '@turnpike/money/price';
import { useRef, useState } from 'react';
import { REGION_NAMES, regionsQuery } from '../account.ts';
import { formatCount } from '../formatCount.ts';
import { CostCalculator } from '../models/CostCalculator.tsx';
import { toCurl } from '../models/firstCall.ts';
import { type Kind, kindOf, type Model, mediaUnitOf, modelsQuery } from '../models/readModels.ts';
import { Dialog } from '../shell/Dialog.tsx';
import { PublicPage } from '../shell/PublicPage.tsx';
import { Snippet } from '../shell/Snippet.tsx';
import { Badge, Empty, Loaded, Name } from '../shell/states.tsx';
import { RowButton, WideTable } from '../shell/WideTable.tsx';
import { toExactUsd } from '../usd.ts';

const KIND_NAMES: Record<Kind, string> = {
  chat: 'Chat',
  embeddings: 'Embeddings',
  images: 'Images',
  videos: 'Videos',
  speech: 'Speech',
  transcripts: 'Transcripts',
};
const KINDS = Object.keys(KIND_NAMES) as Kind[];

interface RegionHosts {
  console_url: string;
  base_url: string;
}

/** The models of each region with their prices, for everyone. */
export function Models() {
  const { region: chosen } = useSearch({ from: PAGES.models });
  const navigate = useNavigate({ from: PAGES.models });
  const query = useQuery(regionsQuery);
  return (
    <PublicPage title="Models" isWide>
      <Text>
        Each region serves its own models. Prices are in US dollars, and prices of tokens are for 1,000,000 of them.{' '}
        <Link to={PAGES.organizations} className="link">
          Go to your organizations
        </Link>
      </Text>
      <Loaded query={query}>
        {({ regions }) => {
          const shown = regions.find(({ region }) => region === chosen) ?? regions[0];
          if (!shown) return <Empty>This dashboard has no region yet. Its operator has to name one.</Empty>;
          return (
            <>
              <Group>
                <NativeSelect
                  label="Region"
                  data={regions.map(({ region }) => ({ value: region, label: REGION_NAMES[region] }))}
                  value={shown.region}
                  onChange={({ currentTarget: { value } }) =>
                    void navigate({ search: { region: REGIONS.find((region) => region === value) } })
                  }
                />
              </Group>
              <ModelsOf key={shown.region} hosts={shown} />
            </>
          );
        }}
      </Loaded>
    </PublicPage>
  );
}

function ModelsOf({ hosts }: { hosts: RegionHosts }) {
  const query = useQuery(modelsQuery(hosts.console_url));
  return (
    <Loaded query={query}>
      {(models) =>
        models.length === 0 ? (
          <Empty>
            <Text>This region serves no model at the moment. Choose another region, or look again in a minute.</Text>
            <Button variant="default" onClick={() => void query.refetch()}>
              Look again
            </Button>
          </Empty>
        ) : (
          <ModelList models={models} hosts={hosts} />
        )
      }
    </Loaded>
  );
}

function ModelList({ models, hosts }: { models: Model[]; hosts: RegionHosts }) {
  const [words, setWords] = useState('');
  const [kind, setKind] = useState<Kind>();
  const [used, setUsed] = useState<Model>();
  const [priced, setPriced] = useState('');
  const select = useRef<HTMLSelectElement>(null);
  const wanted = words.trim().toLowerCase();
  const found = models.filter(
    (model) =>
      (kind === undefined || kindOf(model) === kind) &&
      [model.id, model.name, model.hugging_face_id, ...model.aliases].some((name) =>
        name.toLowerCase().includes(wanted),
      ),
  );
  const calculated = models.find(({ id }) => id === priced) ?? models[0];
  return (
    <>
      <Group align="flex-end">
        <TextInput
          label="Find by name"
          type="search"
          value={words}
          onChange={({ currentTarget }) => setWords(currentTarget.value)}
        />
        <NativeSelect
          label="Kind"
          data={[{ value: '', label: 'All' }, ...KINDS.map((value) => ({ value, label: KIND_NAMES[value] }))]}
          value={kind ?? ''}
          onChange={({ currentTarget }) => setKind(KINDS.find((name) => name === currentTarget.value))}
        />
      </Group>
      {found.length === 0 && <Text role="status">No model is like that. Search for another name or kind.</Text>}
      {found.length > 0 && (
        <WideTable
          label="Models"
          columns={[
            'Model',
            'State',
            'Input',
            'Cached input',
            'Output',
            'Context window',
            'Largest output',
            'Can',
            'Quantization',
            'Actions',
          ]}
        >
          {found.map((model) => (
            <tr key={model.id}>
              <td>
                <Name>{model.name}</Name>
                <Text size="sm" c="dimmed">
                  <Name>{model.id}</Name>
                </Text>
              </td>
              <td>
                <Badge>{model.is_ready ? 'Ready' : 'Not ready'}</Badge>
              </td>
              <Prices model={model} />
              <td>{mediaUnitOf(model) ? '–' : formatCount(model.context_length)}</td>
              <td>{mediaUnitOf(model) ? '–' : formatCount(model.max_output_length)}</td>
              <td>{listCapabilities(model).join(', ')}</td>
              <td>{model.quantization}</td>
              <td>
                <Group gap="xs" wrap="nowrap">
                  <RowButton label={`Use it: ${model.name}`} onClick={() => setUsed(model)}>
                    Use it
                  </RowButton>
                  <RowButton
                    label={`Cost of ${model.name}`}
                    onClick={() => {
                      setPriced(model.id);
                      select.current?.focus();
                    }}
                  >
                    Cost
                  </RowButton>
                </Group>
              </td>
            </tr>
          ))}
        </WideTable>
      )}
      {calculated && <CostCalculator models={models} model={calculated} onChoose={setPriced} selectRef={select} />}
      {used && <FirstCall model={used} hosts={hosts} onClose={() => setUsed(undefined)} />}
    </>
  );
}

const TOKENS = 1_000_000n;
const perMillion = (price: string): string => `$${toExactUsd(parsePrice(price) * TOKENS, ATTO_DIGITS)}`;

/** The cells of the prices: three for tokens, or one for the unit of media. */
function Prices({ model }: { model: Model }) {
  const unit = mediaUnitOf(model);
  const { pricing, unit_price: price } = model;
  if (unit !== undefined) return <td colSpan={3}>{price == null ? 'No price yet' : `$${price} for one ${unit}`}</td>;
  return [pricing.prompt, pricing.input_cache_read, pricing.completion].map((each, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the cells of a row keep their order
    <td key={index}>{perMillion(each)}</td>
  ));
}

const FEATURES: Record<string, string> = {
  tools: 'tools',
  json_mode: 'JSON',
  json_schema: 'schemas',
  reasoning: 'reasoning',
};

/** Lists the abilities of a model beside plain text, for people. */
function listCapabilities(model: Model): string[] {
  const kind = kindOf(model);
  const { capabilities: can } = model;
  return [
    ...(kind === 'chat' ? [] : [KIND_NAMES[kind].toLowerCase()]),
    ...(kind === 'chat' && model.input_modalities.includes('image') ? ['reads images'] : []),
    ...model.supported_features.flatMap((feature) => FEATURES[feature] ?? []),
    ...(can?.sizes ?? []),
    ...(can?.seconds ? [`${can.seconds.join(' or ')}\u00a0s`] : []),
    ...(can?.voices ? [`${can.voices.length}\u00a0voices`] : []),
    ...(can?.max_minutes === undefined ? [] : [`up to ${can.max_minutes}\u00a0minutes`]),
  ];
}

function FirstCall({ model, hosts, onClose }: { model: Model; hosts: RegionHosts; onClose: () => void }) {
  return (
    <Dialog title={`First call of ${model.name}`} onClose={onClose}>
      <Stack>
        <Text>Replace sk-... by the secret of a key of this region.</Text>
        <Snippet label="First call" text={toCurl(model, { baseUrl: hosts.base_url, secret: 'sk-...' })} />
        <Link to={PAGES.organizations} className="link">
          Make a key in a workspace of this region
        </Link>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
