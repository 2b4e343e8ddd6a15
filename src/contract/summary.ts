/** What `summarize_transactions` answers (reading R44). */
import { z } from 'zod'

const money = z.string().meta({ description: 'Exact decimal text, not negative.' })
const countOf = (what: string) =>
  z
    .int()
    .min(0)
    .meta({ description: `Number of ${what}.` })
const sums = {
  currency: z
    .string()
    .meta({ description: 'Currency of the accounts. Never add over currencies.' }),
  moneyIn: money,
  moneyOut: money,
  count: countOf('transactions'),
}

export const TransactionSummary = z
  .object({
    data: z.array(
      z.object({
        key: z.string().nullable().meta({
          description:
            'YYYY-MM, category key, merchant or account id; null: rows without a category or merchant.',
        }),
        label: z.string().nullable().meta({
          description: 'Name of the category or account; null for months and merchants.',
        }),
        ...sums,
      }),
    ),
    others: z
      .array(z.object({ ...sums, groups: countOf('groups') }))
      .meta({ description: 'The smaller groups beyond the first 200, by currency.' }),
    count: countOf('transactions that were summed'),
    truncated: z.boolean().meta({
      description: 'True: there are more rows than one request may read, see reachedDate.',
    }),
    reachedDate: z.iso.date().nullable().meta({
      description:
        'With truncated: rows of earlier days were not read, and those of this day perhaps not all; null: all rows were read, or of a connection it is not known which were not.',
    }),
    unread: z
      .array(z.object({ connectionId: z.uuid(), message: z.string() }))
      .meta({ description: 'Connections that could not be read: their rows are in no sum.' }),
  })
  .meta({ id: 'TransactionSummary' })
