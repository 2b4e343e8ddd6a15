/**
 * A fair comparison on a busy machine: candidates take turns, and the result is the median of the ratios
 * of adjacent turns, since a disturbance affects both.
 */

/** What one turn measured; the lower, the better, or the other way round: the caller knows. */
export type Sample = Readonly<Record<string, number>>

export interface Turns<Name extends string> {
  /** The median of one figure of one candidate. */
  median(name: Name, figure: string): number
  /** The first and the third quartile of one figure of one candidate. */
  quartiles(name: Name, figure: string): readonly [low: number, high: number]
  /** The median, over the rounds, of one candidate's figure divided by another's. */
  ratio(over: Name, under: Name, figure: string): number
  /** The quartiles of these ratios: how much the machine's other work disturbed them. */
  spread(over: Name, under: Name, figure: string): readonly [low: number, high: number]
}

/** Runs every candidate once per round; the first rounds warm up and are not counted. */
export async function takeTurns<Name extends string>(
  candidates: Readonly<Record<Name, () => Promise<Sample>>>,
  rounds: number,
  warmUp = 1,
): Promise<Turns<Name>> {
  const names = Object.keys(candidates) as Name[]
  const samples = new Map<Name, Sample[]>(names.map((name) => [name, []]))
  for (let round = 0; round < warmUp + rounds; round += 1) {
    // Every other round is reversed, so that no candidate always follows the same one.
    const order = round % 2 === 0 ? names : names.toReversed()
    for (const name of order) {
      const sample = await candidates[name]()
      if (round >= warmUp) samples.get(name)?.push(sample)
    }
  }
  const values = (name: Name, figure: string) =>
    (samples.get(name) ?? []).map((sample) => sample[figure] ?? Number.NaN)
  const ratios = (over: Name, under: Name, figure: string) => {
    const below = values(under, figure)
    return values(over, figure).map((value, round) => value / (below[round] ?? 0))
  }
  return {
    median: (name, figure) => median(values(name, figure)),
    quartiles: (name, figure) => [
      quantile(values(name, figure), 0.25),
      quantile(values(name, figure), 0.75),
    ],
    ratio: (over, under, figure) => median(ratios(over, under, figure)),
    spread: (over, under, figure) => {
      const all = ratios(over, under, figure)
      return [quantile(all, 0.25), quantile(all, 0.75)]
    },
  }
}

/** The middle value; NaN of nothing. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.floor(values.length * share)] ?? Number.NaN
}
