/** Checks that a scan finds what JSON.parse finds, byte by byte, or leaves the page to it; and that usual pages are scanned. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { NumberText, parseExactJson } from './json.ts'
import { makeRowScanner, type RowScan } from './row-scan.ts'

type Row = Record<string, unknown>
const texts = ['id', 'status', 'at']
const numbers = ['amount', 'fee']
const fields = [...texts, ...numbers]
/** The places of a row in `RowScan.texts`. */
const width = fields.length * 2
const scanRows = makeRowScanner('rows', texts, numbers)

/** JSON text, in the ways in which JSON can be written. */
const blank = fc.constantFrom('', '', '', ' ', '\n\t', '\r')
const escaped = fc.constantFrom('\\"', '\\\\', '\\u0069', '\\ud83d\\ude00', '\\ud800', '\\/', '\\n')
const plain = fc.constantFrom(
  'a',
  'id',
  'POSTED',
  '{',
  '}',
  '[',
  ',',
  ':',
  'é',
  '金',
  '😀',
  '\u007f',
  ' ',
  '',
)
const text = fc
  .array(fc.oneof({ weight: 8, arbitrary: plain }, escaped), { maxLength: 6 })
  .map((parts) => `"${parts.join('')}"`)
const number = fc.constantFrom('0', '-0.00', '12345678901234567890.12', '1e-7', '1E+2', '7', '77')
const literal = fc.constantFrom('null', 'true', 'false')
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 6, arbitrary: text },
    number,
    literal,
    fc
      .tuple(blank, fc.array(tie('value'), { maxLength: 3 }))
      .map(([gap, list]) => `[${gap}${list.join(`${gap},`)}]`),
    fc
      .tuple(blank, fc.array(fc.tuple(text, tie('value')), { maxLength: 3 }))
      .map(
        ([gap, list]) => `{${gap}${list.map(([name, held]) => `${name}${gap}:${held}`).join(',')}}`,
      ),
  ),
}))
const key = fc.constantFrom(
  '"id"',
  '"status"',
  '"at"',
  '"x"',
  '"amount"',
  '"fee"',
  '"f\\u0065e"',
  '"\\u0069d"',
  '"__proto__"',
  '""',
  '"idx"',
)
const member = fc
  .tuple(key, blank, blank, value)
  .map(([name, before, after, held]) => `${name}${before}:${after}${held}`)
const oddRow = fc
  .tuple(blank, fc.array(member, { maxLength: 6 }))
  .map(([gap, list]) => `{${gap}${list.join(`,${gap}`)}${gap}}`)
/** Objects that are remembered, since they are large: some begin alike, some occur again and again. */
const largeObject = fc
  .tuple(
    fc.constantFrom('s1', 's2', 'the same longer id of several objects'),
    fc.constantFrom('A', 'B', 'A\u00e9'),
    fc.constantFrom(250, 260, 400),
  )
  .map(([id, name, size]) => ({ id, name, of: { text: 'x'.repeat(size), list: [1, null] } }))
const usualRow = fc
  .record(
    {
      id: fc.constantFrom('a1', 'a2', 'b1'),
      status: fc.constantFrom('POSTED', 'PENDING'),
      at: fc.constantFrom('2026', '2027'),
      x: fc.constantFrom(null, 1, 12, 'y', ['z']),
      amount: fc.constantFrom(0, -1.5, 12345, null, '7'),
      security: fc.oneof({ weight: 4, arbitrary: largeObject }, fc.constantFrom(null, {}, 'y')),
    },
    { requiredKeys: ['id'] },
  )
  .map((row) => JSON.stringify(row))
const page = fc
  .tuple(
    fc.array(fc.oneof({ weight: 3, arbitrary: usualRow }, oddRow), { maxLength: 12 }),
    blank,
    blank,
    value,
  )
  .map(
    ([rows, gap, end, other]) =>
      `${gap}{"links":${other}${gap},"rows":${gap}[${rows.join(`,${gap}`)}],"n":1${end}}${end}`,
  )

const slice = (body: Uint8Array, from = 0, to = 0) =>
  Buffer.from(body.subarray(from, to)).toString()

/** The rows and texts of a scan are those of the parsed page. */
function compare(body: Uint8Array, scan: RowScan): void {
  const { rows, ...around } = JSON.parse(Buffer.from(body).toString()) as { rows: Row[] }
  assert.deepEqual(scan.envelope, { ...around, rows: [] })
  assert.equal(scan.length, rows.length)
  rows.forEach((row, index) => {
    const bounds = [scan.bounds[index * 2], scan.bounds[index * 2 + 1]] as const
    assert.deepEqual(JSON.parse(slice(body, ...bounds)), row)
    const places = scan.texts.slice(index * width, (index + 1) * width)
    texts.forEach((field, at) => {
      const [from, to] = places.slice(at * 2)
      if (to !== 0) assert.equal(slice(body, from, to), row[field])
    })
    const exact = parseExactJson(slice(body, ...bounds)) as Row
    numbers.forEach((field, at) => {
      const [from, to] = places.slice((texts.length + at) * 2)
      if (to === 0 || typeof row[field] !== 'number') return
      assert.deepEqual(exact[field], new NumberText(slice(body, from, to)))
    })
  })
}

test('rows and texts of a scan are those of JSON.parse, however the page is written', () => {
  let scanned = 0
  fc.assert(
    fc.property(page, (written) => {
      const body = Buffer.from(written)
      const scan = scanRows(body)
      if (scan === null) return
      scanned += 1
      compare(body, scan)
    }),
    { numRuns: 4000 },
  )
  assert(scanned > 3000, `only ${scanned} pages were scanned`)
})

test('what JSON.parse refuses is never scanned, and what was changed is scanned as it is now', () => {
  let refused = 0
  const change = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    cut: fc.constantFrom(0, 1, 2, 1000),
    put: fc.constantFrom(
      '',
      '"',
      '\\',
      ',',
      '}',
      '{',
      ']',
      ':',
      '0',
      '-',
      'u',
      '\u0001',
      '\n',
      'e',
      '.',
      'é',
    ),
  })
  fc.assert(
    fc.property(page, change, (written, { at, cut, put }) => {
      const begin = Math.floor(at * written.length)
      const body = Buffer.from(written.slice(0, begin) + put + written.slice(begin + cut))
      const scan = scanRows(body)
      if (!isJson(body.toString())) {
        refused += 1
        assert.equal(scan, null)
      } else if (scan !== null) compare(body, scan)
    }),
    { numRuns: 6000 },
  )
  assert(refused > 2000, `only ${refused} pages were refused`)
})

function isJson(written: string): boolean {
  try {
    JSON.parse(written)
    return true
  } catch {
    return false
  }
}

test('every text of a usual page is found, and of equal texts one after another the first place is given', () => {
  const rows = Array.from({ length: 700 }, (_, index) => ({
    id: `row-${index}`,
    amount: index % 7,
    ...(index % 3 === 0 ? { note: 'Café' } : {}),
    status: index < 350 ? 'POSTED' : 'PENDING',
    at: `2026-01-${index}`,
  }))
  for (const indent of [0, 2]) {
    const body = Buffer.from(JSON.stringify({ rows, links: {} }, null, indent))
    const scan = scanRows(body)
    assert(scan !== null)
    compare(body, scan)
    const places = rows.map((_, index) => scan.texts.slice(index * width, (index + 1) * width))
    assert(places.every(([, id, , status, , at]) => id !== 0 && status !== 0 && at !== 0))
    assert.equal(new Set(places.map(([, , status]) => status)).size, 2)
  }
})

test('a page is left to JSON.parse where only that can judge it', () => {
  const deep = `${'['.repeat(40)}${']'.repeat(40)}`
  for (const written of [
    '[]',
    '{}',
    '{"rows":{}}',
    '{"rows":[1]}',
    '{"rows":[{}],"rows":[]}',
    '{"r\\u006fws":[],"rows":[]}',
    `{"rows":[{"x":${deep}}]}`,
    '\ufeff{"rows":[]}',
  ]) {
    assert.equal(scanRows(Buffer.from(written)), null, written)
  }
  assert.equal(scanRows(Buffer.from([...Buffer.from('{"rows":[],"x":"'), 0xff, 0x22, 0x7d])), null)
})

test('a field with an escape, another type or a second value has no text', () => {
  const rows = [
    '{"id":"a\\u0062"}',
    '{"id":1}',
    '{"id":"a","id":"b"}',
    '{"\\u0069d":"b","id":"a"}',
    '{}',
    '{"id":"a"}',
  ]
  const body = Buffer.from(`{"rows":[${rows.join(',')}]}`)
  const scan = scanRows(body)
  assert(scan !== null)
  compare(body, scan)
  assert.deepEqual(
    rows.map((_, index) => scan.texts[index * width + 1] !== 0),
    [false, false, false, false, false, true],
  )
})

test('a number that begins like the one in the row before is read to its end', () => {
  for (const [numbers, isScanned] of [
    [['1', '12', '1.5', '1e3'], true],
    [['1', '1x'], false],
    [['1', '1.'], false],
    [['0', '01'], false],
    [['true', 'trues'], false],
  ] as const) {
    const body = Buffer.from(`{"rows":[${numbers.map((one) => `{"x":${one}}`).join(',')}]}`)
    const scan = scanRows(body)
    assert.equal(scan !== null, isScanned, numbers.join())
    if (scan !== null) compare(body, scan)
  }
})

test('R24: numbers are found with every digit, unless a key of the row is spelled with escapes', () => {
  const rows = [
    '{"id":"a","amount":1.50,"fee":null}',
    '{"id":"b","fee":0.00,"amount" : -12345678901234567890.10 }',
    '{"id":"c","amount":"9.90","fee":1E+2}',
    '{"id":"d","amount":1.5,"amount":1.50}',
    '{"id":"e","part":{"amount":7}}',
    '{"id":"f","amount":7,"f\\u0065e":8}',
  ]
  const body = Buffer.from(`{"rows":[${rows.join(',')}],"amount":2}`)
  const scan = scanRows(body)
  assert(scan !== null)
  compare(body, scan)
  const first = texts.length * 2
  const found = rows.map((_, index) =>
    [0, 2].map((at) => {
      const place = index * width + first + at
      return slice(body, scan.texts[place], scan.texts[place + 1])
    }),
  )
  assert.deepEqual(found, [
    ['1.50', ''],
    ['-12345678901234567890.10', '0.00'],
    ['', '1E+2'],
    ['1.50', ''],
    ['', ''],
    ['', ''],
  ])
})

test('an object that begins like a large one before is read to its end', () => {
  const large = (end: string) => `{"security":{"id":"the id","text":"${'x'.repeat(300)}"${end}}`
  for (const [ends, isScanned] of [
    [['}', '}', '}'], true],
    [['}', ',"more":1}', '}', ',"more":1}'], true],
    [['}', ',"more":1}', ',"more":1'], false],
    [['}', '}', ']'], false],
    [['}', '}', ',}'], false],
  ] as const) {
    const body = Buffer.from(`{"rows":[${ends.map(large).join(',')}]}`)
    const scan = scanRows(body)
    assert.equal(scan !== null, isScanned, ends.join())
    if (scan !== null) compare(body, scan)
  }
})
