/** As many as call within some seconds. Of calls that fall off as one by the rank the largest has a tenth. */
const COUNT = 12_000;

/** What part of the calls each workspace has, the largest first: Zipf's law. */
export function shareCalls(): number[] {
  const weights = Array.from({ length: COUNT }, (_, rank) => 1 / (rank + 1));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** Draws workspaces by their shares. */
export function createWorkspaceDraw(shares: readonly number[], random: () => number): () => number {
  let sum = 0;
  const upTo = shares.map((share) => {
    sum += share;
    return sum;
  });
  return () => {
    const drawn = random() * sum;
    let [low, high] = [0, upTo.length - 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((upTo[middle] as number) > drawn) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}
