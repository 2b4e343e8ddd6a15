/**
 * The results of a benchmark: one line per figure, printed at once and later written into
 * docs/performance.md. It measures nothing.
 */

export interface Figure {
  /** The benchmark: `hit`, `miss`, … */
  readonly bench: string
  readonly what: string
  /** Ours, with its unit. */
  readonly figure: string
  /** What it is compared with, with its unit; empty where there is nothing. */
  readonly anchor: string
  /** Ours against the anchor; empty where there is none. */
  readonly ratio: string
  readonly goal: string
  /** Null: shown for information. */
  readonly met: boolean | null
}

/** One printed line. */
export function toLine(figure: Figure): string {
  const { what, anchor, ratio, goal, met } = figure
  const parts = [
    `${figure.bench.padEnd(11)}${what}: ${figure.figure}`,
    anchor === '' ? '' : `against ${anchor}`,
    ratio === '' ? '' : `= ${ratio}`,
    goal === '' ? '' : `(goal ${goal}${met === null ? '' : met ? ', met' : ', MISSED'})`,
  ]
  return parts.filter((part) => part !== '').join(' ')
}

/** The figures as a table in Markdown. */
export function toTable(figures: readonly Figure[]): string {
  const rows = figures.map(({ bench, what, figure, anchor, ratio, goal, met }) => {
    const verdict = met === null ? '' : met ? 'met' : 'missed'
    return `| \`${bench}\` | ${what} | ${figure} | ${anchor} | ${ratio} | ${goal} | ${verdict} |`
  })
  return [
    '| Benchmark | What | Figure | Anchor | Ratio | Goal | |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}
