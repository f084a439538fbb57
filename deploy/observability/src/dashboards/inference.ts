import type { Board } from './board.ts';
import { growth, medianAndTail, perSecond, quantile } from './promql.ts';

export const inferenceBoard: Board = {
  id: 'inference',
  title: 'Turnpike: inference',
  variables: [
    { label: 'model', metric: 'turnpike_tokens_total' },
    { label: 'engine', metric: 'turnpike_placements_total' },
  ],
  rows: [
    {
      title: 'What clients see',
      panels: [
        {
          title: 'Time to first token',
          unit: 's',
          says: 'From the request to the first token sent to the client.',
          lines: medianAndTail('turnpike_time_to_first_token_seconds', 'model', '{model=~"$model"}'),
        },
        {
          title: 'Pace of a stream',
          unit: 'short',
          says: 'Tokens a second from its first event to its end; one stream in ten is slower than p10.',
          lines: [
            {
              expr: quantile(0.5, 'turnpike_output_tokens_per_second', '{model=~"$model"}', 'model'),
              legend: 'p50 {{model}}',
            },
            {
              expr: quantile(0.1, 'turnpike_output_tokens_per_second', '{model=~"$model"}', 'model'),
              legend: 'p10 {{model}}',
            },
          ],
        },
        {
          title: 'Calls',
          unit: 'reqps',
          says: 'Admitted calls that ended, by how they did.',
          lines: [{ expr: perSecond('turnpike_calls_total{model=~"$model"}', 'status'), legend: '{{status}}' }],
        },
        {
          title: 'Tokens',
          unit: 'short',
          says: "Of all calls. Cached prompt tokens are a part of the prompt's.",
          lines: [{ expr: perSecond('turnpike_tokens_total{model=~"$model"}', 'kind'), legend: '{{kind}}' }],
        },
        {
          title: 'Call duration',
          unit: 's',
          says: 'From admission to the end of a call.',
          lines: medianAndTail('turnpike_call_duration_seconds', 'model', '{model=~"$model"}'),
        },
        {
          title: 'Faults',
          unit: 'reqps',
          says: 'Requests that were refused or failed, by why.',
          lines: [{ expr: perSecond('turnpike_faults_total', 'fault'), legend: '{{fault}}' }],
        },
      ],
    },
    {
      title: 'Where calls go',
      panels: [
        {
          title: 'Prefix hit rate',
          unit: 'percentunit',
          says: 'Part of the prompt tokens that engines read from their caches.',
          lines: [
            {
              expr: [
                perSecond('turnpike_tokens_total{kind="cached_prompt", model=~"$model"}', 'model'),
                perSecond('turnpike_tokens_total{kind="prompt", model=~"$model"}', 'model'),
              ].join(' / '),
              legend: '{{model}}',
            },
          ],
        },
        {
          title: 'Error of the cache estimate',
          unit: 'percentunit',
          says:
            'Cached tokens a call was placed for against those its engine counted, as a part of the prompt. Over: ' +
            'engines have dropped what the router believes they hold. Under: they hold what it does not know of.',
          lines: [
            {
              expr: [
                perSecond('turnpike_cache_estimate_error_ratio_sum{model=~"$model"}', 'direction'),
                perSecond('turnpike_cache_estimate_error_ratio_count{model=~"$model"}', 'direction'),
              ].join(' / '),
              legend: 'mean {{direction}}',
            },
            {
              expr: quantile(0.9, 'turnpike_cache_estimate_error_ratio', '{model=~"$model"}', 'direction'),
              legend: 'p90 {{direction}}',
            },
          ],
        },
        {
          title: 'Why an engine was chosen',
          unit: 'reqps',
          says: 'Many spills: prompts belong on engines that are too busy.',
          lines: [{ expr: perSecond('turnpike_placements_total{engine=~"$engine"}', 'reason'), legend: '{{reason}}' }],
        },
        {
          title: 'Calls by engine',
          unit: 'reqps',
          lines: [{ expr: perSecond('turnpike_placements_total{engine=~"$engine"}', 'engine'), legend: '{{engine}}' }],
        },
        {
          title: 'Tokens under way by engine',
          unit: 'short',
          says: 'Prompts still to be computed, and expected answers, of all routers.',
          lines: [
            { expr: 'sum by (engine) (turnpike_engine_tokens_in_flight{engine=~"$engine"})', legend: '{{engine}}' },
          ],
        },
        {
          title: 'First event by engine',
          unit: 's',
          says: 'From the request to an engine to its first event, 99th percentile.',
          lines: [
            {
              expr: quantile(0.99, 'turnpike_engine_first_event_seconds', '{engine=~"$engine"}', 'engine'),
              legend: '{{engine}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Waiting for an engine',
      panels: [
        {
          title: 'Calls that wait',
          unit: 'short',
          says: 'For an engine with room.',
          lines: [{ expr: 'sum by (model) (turnpike_queued_calls{model=~"$model"})', legend: '{{model}}' }],
        },
        {
          title: 'Wait',
          unit: 's',
          says: 'Of calls that had to.',
          lines: medianAndTail('turnpike_queue_seconds', 'model', '{model=~"$model"}'),
        },
        {
          title: 'Calls turned away',
          unit: 'reqps',
          says: 'Because too many want an engine, by reason.',
          lines: [{ expr: perSecond('turnpike_sheds_total{model=~"$model"}', 'reason'), legend: '{{reason}}' }],
        },
      ],
    },
    {
      title: 'Health of the fleet',
      panels: [
        {
          title: 'Breakers',
          unit: 'short',
          says: '0: calls flow to the engine, 1: it is being tried, 2: they do not. The worst that a router says.',
          lines: [{ expr: 'max by (engine) (turnpike_engine_breaker{engine=~"$engine"})', legend: '{{engine}}' }],
        },
        {
          title: 'Ejections',
          unit: 'short',
          says: 'Engines left out in the last five minutes.',
          lines: [
            {
              expr: growth('turnpike_engine_ejections_total{engine=~"$engine"}', '5m', 'engine, reason'),
              legend: '{{engine}} {{reason}}',
            },
          ],
        },
        {
          title: 'Retries',
          unit: 'short',
          says: 'Calls tried on another engine, and how many more may be at this moment, of the router that has fewest left.',
          lines: [
            {
              expr: perSecond('turnpike_engine_retries_total{model=~"$model"}', 'model'),
              legend: 'a second, {{model}}',
            },
            { expr: 'min(turnpike_engine_retries_left)', legend: 'left' },
          ],
        },
        {
          title: 'Probes',
          unit: 'reqps',
          says: 'Single tokens asked of engines, by what came of it.',
          lines: [
            { expr: perSecond('turnpike_engine_probes_total{engine=~"$engine"}', 'result'), legend: '{{result}}' },
          ],
        },
      ],
    },
    {
      title: 'The routers',
      panels: [
        { title: 'Open calls', unit: 'short', lines: [{ expr: 'sum(turnpike_open_calls)', legend: 'open' }] },
        {
          title: 'Spool',
          unit: 'percentunit',
          says: 'Fullest; at 90 % new calls are refused.',
          lines: [{ expr: 'max(turnpike_spool_bytes / turnpike_spool_limit_bytes)', legend: 'fullest' }],
        },
        {
          title: 'Admission',
          unit: 's',
          says: 'Wait for the admit script, 99th percentile.',
          lines: [{ expr: quantile(0.99, 'turnpike_admit_seconds'), legend: 'p99' }],
        },
        {
          title: 'Gate',
          unit: 'short',
          says:
            'Whether calls are admitted: by what the routers tell the ledger, and how many routers do; and ' +
            'whether the ledger gives balances.',
          lines: [
            { expr: 'min(turnpike_gate_open)', legend: 'gate open' },
            { expr: 'sum(turnpike_router_admits)', legend: 'routers that admit' },
            { expr: 'min(turnpike_balances_given)', legend: 'balances given' },
          ],
        },
        {
          title: 'Gate closed for',
          unit: 's',
          says: 'How long no router has admitted a call. A recovery takes a few seconds.',
          lines: [{ expr: 'max(turnpike_gate_closed_seconds)', legend: 'closed' }],
        },
        {
          title: 'Routers that do not admit',
          unit: 'short',
          says:
            'What turnpike recovery names: routers that are waited for, that have been left behind, that see ' +
            'another Redis, and those of them that take too long.',
          lines: [
            { expr: 'max(turnpike_routers_awaited)', legend: 'awaited' },
            { expr: 'max(turnpike_routers_fenced)', legend: 'fenced' },
            { expr: 'max(turnpike_router_strangers)', legend: 'strangers' },
            { expr: 'max(turnpike_routers_overdue)', legend: 'overdue' },
          ],
        },
        {
          title: 'Routers heard',
          unit: 'short',
          says:
            'Of how many others a router hears what they have under way: that of the router that hears fewest, and of the ' +
            'one that hears most. Both are one less than there are. Unheard, calls go where less of their prompts is cached.',
          lines: [
            { expr: 'min(turnpike_routers_heard)', legend: 'fewest' },
            { expr: 'max(turnpike_routers_heard)', legend: 'most' },
          ],
        },
      ],
    },
  ],
};
