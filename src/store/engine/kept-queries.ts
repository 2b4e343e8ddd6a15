/**
 * Statements that are built once and then run with other values: building one takes longer than SQLite takes
 * to run it, and as long as the driver of PostgreSQL takes to send it. Of the hot statements only.
 */
import type { Compilable, CompiledQuery } from 'kysely'
import type { Db } from './tables.ts'

type Value = string | number | boolean | bigint | Date | Uint8Array | null
type Flat = { readonly [name: string]: Value }

/** What a statement depends on: values, and lists of values or of rows. A name is in every row or in none. */
export type QueryValues = {
  readonly [name: string]: Value | readonly Value[] | readonly Flat[]
}

/** Stands for a value while the statement is built: where it is found when the statement runs. */
class Slot {
  readonly name: string
  readonly index: number | null
  readonly column: string | null
  constructor(name: string, index: number | null = null, column: string | null = null) {
    this.name = name
    this.index = index
    this.column = column
  }
}

/** Builds the statement. The values are placeholders: nothing may depend on what they are. */
export type BuildQuery<Values extends QueryValues, Row> = (
  db: Db,
  values: Values,
) => Compilable<Row>

export interface KeptQueries {
  /** The statement with these values. Its text depends on `build` and on the lengths of the lists. */
  compile<Values extends QueryValues, Row>(
    build: BuildQuery<Values, Row>,
    db: Db,
    values: Values,
  ): CompiledQuery<Row>
}

/** Texts of one statement, e.g. for lists of different lengths; further ones are built each time. */
const maxTexts = 64

/** For one database: texts differ between engines and schemas. */
export function makeKeptQueries(): KeptQueries {
  const kept = new Map<unknown, Map<string, CompiledQuery>>()
  return {
    compile<Values extends QueryValues, Row>(
      build: BuildQuery<Values, Row>,
      db: Db,
      values: Values,
    ) {
      const texts = kept.getOrInsertComputed(build, () => new Map())
      const shape = toShape(values)
      let query = texts.get(shape)
      if (query === undefined) {
        // The placeholders have the form of the values, which is what `build` is typed with.
        query = build(db, toSlots(values) as unknown as Values).compile()
        if (texts.size < maxTexts) texts.set(shape, query)
      }
      const parameters = query.parameters.map((given) => fill(given, values))
      return { ...query, parameters } as CompiledQuery<Row>
    },
  }
}

function toShape(values: QueryValues): string {
  let shape = ''
  for (const name in values) {
    const value = values[name]
    shape += Array.isArray(value) ? `${name}:${value.length} ` : `${name} `
  }
  return shape
}

function toSlots(values: QueryValues): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map((item, index) => toItem(name, index, item)) : new Slot(name),
    ]),
  )
}

function toItem(name: string, index: number, item: Value | Flat): unknown {
  if (!isFlat(item)) return new Slot(name, index)
  return Object.fromEntries(
    Object.keys(item).map((column) => [column, new Slot(name, index, column)]),
  )
}

const isFlat = (item: Value | Flat): item is Flat =>
  typeof item === 'object' &&
  item !== null &&
  !(item instanceof Date) &&
  !(item instanceof Uint8Array)

function fill(given: unknown, values: QueryValues): unknown {
  if (!(given instanceof Slot)) return given
  const value = values[given.name]
  if (given.index === null) return value
  const item: unknown = Array.isArray(value) ? value[given.index] : undefined
  return given.column === null ? item : (item as Flat)[given.column]
}
