/** Two stacks side by side: one of region us, one of region eu. */
export const regionRows = {
  'regions.wrong-region-key': 'a key of one region is unknown to the other: 401, the same as for a mistyped key',
  'regions.wrong-region-key.all': 'on the model list and on look-ups as well',
  'regions.own-list': 'the host that is called determines the list of models',
  'regions.uncleared':
    'a model not cleared for a region is not listed there, and calling it is an ordinary unknown model',
  'regions.usage-apart': 'a usage record of one region is not found in the other',
  'regions.not-served.chat':
    'a workspace of a region that the stack does not serve is a wrapped 403: region_not_served',
  'regions.not-served.models': 'the model list refuses it with 403',
  'regions.not-served.service': 'look-ups refuse it with 401',
  'regions.api-only': 'the eu host serves only the API: its root is 404',
  'regions.usd': 'prices, usage and balances are in USD in both regions',
} as const;
