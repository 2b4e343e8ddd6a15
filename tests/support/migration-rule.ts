/**
 * Judges migrations by docs/decisions/0018-expand-and-contract.md: the statements that only add, after which
 * code without the migration still works, and all others, which must say what code they need.
 */

export interface MigrationFile {
  readonly number: number
  readonly text: string
}

/** What is wrong with the file, one line each. */
export function judgeMigration({ number, text }: MigrationFile): readonly string[] {
  const declared = /^-- Needs: (.*)$/m.exec(text)?.[1]
  const contracting = listContracting(text)
  if (declared === undefined)
    return contracting.map(
      (statement) => `takes away without a line "-- Needs: NNNN": ${statement}`,
    )
  if (!/^\d{4}$/.test(declared)) return [`"-- Needs: ${declared}" is no number of four digits`]
  if (contracting.length === 0) return ['needs newer code and takes nothing away']
  if (Number(declared) < number) return []
  return [`needs ${declared}, which no older code knows: it must be in an earlier step`]
}

/** The statements after which code that does not know the migration may fail. */
export function listContracting(text: string): readonly string[] {
  const statements = toStatements(text)
  const made = new Set(statements.flatMap((one) => /^create table (\w+)/.exec(one)?.[1] ?? []))
  return statements.filter((statement) => !isExpanding(statement, made))
}

function toStatements(text: string): readonly string[] {
  return text
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim().replaceAll(/\s+/g, ' ').toLowerCase())
    .filter((statement) => statement !== '')
}

/** @param made the tables that the same file makes: no older code uses them. */
function isExpanding(statement: string, made: ReadonlySet<string>): boolean {
  if (/^create table \w+/.test(statement)) return true
  // Older code writes what it reads: new values are for rows that it does not mind.
  if (/^(?:insert into|update) \w+/.test(statement)) return true
  const index = /^create (unique )?index \w+ on (\w+)/.exec(statement)
  if (index !== null) return index[1] === undefined || made.has(index[2] ?? '')
  const [, table = '', column = ''] = /^alter table (\w+) add column (.+)$/.exec(statement) ?? []
  if (table === '') return false
  // A row of older code has no value for it, and refers to nothing by it.
  const isLeftOut = !/\bnot null\b/.test(column) || /\bdefault\b/.test(column)
  return isLeftOut && !/\b(?:unique|references|check|primary key)\b/.test(column)
}
