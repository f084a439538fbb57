/** Headers of server-sent events, which nothing on the way may keep, change or hold back. */
export const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
};

/** One event: media have their type in the JSON. */
export const toEvent = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;
