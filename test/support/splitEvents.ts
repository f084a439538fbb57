/** Returns the data of a stream's events: each is a `data:` line with a blank line after it. Throws on anything else. */
export function splitEvents(text: string): string[] {
  const events = text.split('\n\n');
  if (events.pop() !== '') throw new Error('the stream ends within an event');
  return events.map((event) => {
    if (!event.startsWith('data: ') || event.includes('\n')) throw new Error(`not an event of the stream: ${event}`);
    return event.slice('data: '.length);
  });
}
