/** A deadline passes in so many turns of the event loop at least. */
const PARTS = 5;

/**
 * Calls `onPassed` after `afterMs`, unless the returned function is called first. The time that this process is held up itself counts
 * for little: it passes in parts, each a turn of the event loop, so an answer that came meanwhile is read before its deadline
 * passes. A plain timer would come first, and a burst of work here would make answers late that are there.
 */
export function startDeadline(afterMs: number, onPassed: () => void): () => void {
  let left = PARTS;
  let timer = setTimeout(pass, afterMs / PARTS);
  function pass(): void {
    left -= 1;
    if (left === 0) onPassed();
    else timer = setTimeout(pass, afterMs / PARTS);
  }
  return () => clearTimeout(timer);
}
