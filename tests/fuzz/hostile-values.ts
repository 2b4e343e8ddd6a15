/**
 * Values that no client should send, and common ones, as text that is already fit for a query string or a
 * header: one character is one byte. Ids are placeholders that the world replaces by real ones when a request
 * is sent, so that a seed means the same requests in every run.
 */
import fc from 'fast-check'
import { anyCharacter } from '#tests/support/any-character.ts'
import type { DescribedParameter } from './described.ts'

type Text = fc.Arbitrary<string>

/** Percent-encodes everything but the unreserved; placeholders stay. */
const encode = (text: string) =>
  text.startsWith('<') && text.endsWith('>') ? text : encodeURIComponent(text.toWellFormed())

/** Every byte of it, the harmless ones too. */
const encodeAll = (text: string) =>
  Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

const owners = fc.constantFrom('own', 'own', 'own', 'own', 'other')
const nth = fc.nat({ max: 7 })

/** `<own.banking.2>` is a connection, `<own.banking.2.5>` an account on it, both counted round. */
export const connectionText = (category: 'banking' | 'brokerage'): Text =>
  fc.tuple(owners, nth).map(([owner, at]) => `<${owner}.${category}.${at}>`)

export const accountText = (category: 'banking' | 'brokerage'): Text =>
  fc
    .tuple(owners, nth, nth)
    .map(([owner, at, account]) => `<${owner}.${category}.${at}.${account}>`)

const category = fc.constantFrom('banking' as const, 'brokerage' as const)
const uuid = fc.uuid()

const anyId: Text = fc.oneof(
  { weight: 4, arbitrary: category.chain(connectionText) },
  { weight: 4, arbitrary: category.chain(accountText) },
  { weight: 1, arbitrary: uuid },
  { weight: 1, arbitrary: uuid.map((id) => id.toUpperCase()) },
  { weight: 1, arbitrary: category.chain(accountText).map((id) => `${id}x`) },
  { weight: 1, arbitrary: uuid.map((id) => `{${id}}`) },
  { weight: 1, arbitrary: uuid.map((id) => id.replaceAll('-', '')) },
)

const idList: Text = fc
  .tuple(
    fc.array(anyId, { minLength: 1, maxLength: 8 }),
    fc.constantFrom(',', ',', ',', ',,', ', ', '%2C', ';'),
    fc.constantFrom(1, 1, 1, 1, 3, 40),
  )
  .map(([ids, comma, times]) => Array(times).fill(ids.join(comma)).join(comma))

const integer: Text = fc.oneof(
  fc.nat({ max: 600 }).map(String),
  fc.nat({ max: 6000 }).map(String),
  fc.integer().map(String),
  fc.maxSafeInteger().map(String),
  fc.double().map(String),
  fc.bigInt().map(String),
  fc.constantFrom(
    ...['0', '1', '-1', '-0', '00', '007', '2147483647', '2147483648', '4294967296', '1e3', '1.0'],
    ...[
      '0x10',
      '%2B5',
      '+5',
      '%205',
      '5%20',
      'NaN',
      'Infinity',
      'null',
      'true',
      '[]',
      '1,2',
      '1_0',
    ],
    ...['9'.repeat(100), '9'.repeat(101), '0'.repeat(99), '%D9%A3', '%EF%BC%95', '1n', '1;2', ''],
  ),
)

/** Two digits, often the first or the last of them: that is where calendars break. */
const two = (max: number) =>
  fc
    .oneof(fc.nat({ max }), fc.constantFrom(0, 1, max - 1, max))
    .map((value) => String(value).padStart(2, '0'))
const year = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 2018, max: 2028 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom('0000', '0001', '1969', '1970', '2255', '9999') },
  { weight: 1, arbitrary: fc.constantFrom('-000001', '+275760', '10000', '26', '２０２６') },
)
const day = fc.tuple(year, two(13), two(32)).map((parts) => parts.join('-'))
const dayBetween = (from: string, to: string) =>
  fc
    .date({ min: new Date(from), max: new Date(to), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10))
/** The sandbox has rows of two years. */
const goodDay = fc.oneof(
  dayBetween('2019-11-25', '2026-11-21'),
  dayBetween('2025-01-01', '2026-11-21'),
)
const time = fc.tuple(two(24), two(60), two(61)).map((parts) => parts.join(':'))
const fraction = fc.oneof(
  { weight: 5, arbitrary: fc.constant('') },
  { weight: 2, arbitrary: fc.nat().map((digits) => `.${digits}`) },
  { weight: 1, arbitrary: fc.constantFrom('.', ',5', `.${'0'.repeat(30)}`, '.-1', '.1e3') },
)
const zone = fc.oneof(
  fc.constantFrom('Z', 'z', '', '+00:00', '-00:00', '+11:00', '+1100', ' 11:00', '+14:00'),
  fc.tuple(fc.constantFrom('+', '-', ' '), two(30), two(70)).map(([s, h, m]) => `${s}${h}:${m}`),
  fc.constantFrom('[Australia/Sydney]', 'Z[UTC]', '+24:00', '+99:99', 'Z ', 'ZZ', '+11', 'UTC'),
)
const instant = fc
  .tuple(
    fc.oneof(goodDay, day),
    fc.constantFrom('T', 'T', 'T', 't', ' ', '_'),
    time,
    fraction,
    zone,
  )
  .map((parts) => parts.join(''))
const date: Text = fc.oneof(
  { weight: 6, arbitrary: goodDay },
  { weight: 3, arbitrary: day.map(encode) },
  { weight: 6, arbitrary: instant.map(encode) },
  { weight: 1, arbitrary: instant.map((text) => text.replaceAll(' ', '+')) },
  { weight: 1, arbitrary: fc.constantFrom('now', 'today', '-P7D', '1764000000', '2026-W30', '') },
)

/** Text that breaks decoders, terminals, databases and prototypes. */
const fixedGarbage = [
  ...['%', '%%', '%zz', '%1', '%u0041', '%00', 'a%00b', '%0d%0aX-Bad:%201', '%0A', '%7F', '%1b[2J'],
  ...[
    '%ff',
    '%fe%ff',
    '%c3%28',
    '%ed%a0%80',
    '%f8%88%80%80%80',
    '%c0%ae',
    '%f4%90%80%80',
    '%e2%82',
  ],
  ...['%F0%9F%A6%98', '%E2%80%AE', '%EF%BB%BF', '%CC%81'.repeat(50), '%EF%BF%BF', '%C2%85'],
  ...[
    '__proto__',
    'constructor',
    'hasOwnProperty',
    'toString',
    'null',
    'undefined',
    '[object+Object]',
  ],
  ...[
    "'+OR+1=1--",
    '%22;DROP+TABLE+users;--',
    '%24{7*7}',
    '{{7*7}}',
    '../../etc/passwd',
    '..%2f..%2f',
  ],
  ...['<script>', '%3Cscript%3E', '$ne', '[]=1', '=', '==', '?', '#', '&amp;', '+', '%2B', '%26'],
]
const garbage: Text = fc.oneof(
  fc.constantFrom(...fixedGarbage),
  fc.string({ unit: anyCharacter, maxLength: 40 }).map(encode),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map(encodeAll),
  fc.uint8Array({ maxLength: 24 }).map((bytes) => encodeAll(Buffer.from(bytes).toString('latin1'))),
  fc
    .tuple(
      fc.constantFrom('a', '9', ',', '%', '%41', '-', '%F0%9F%A6%98'),
      fc.integer({ min: 1, max: 3000 }),
    )
    .map(([unit, times]) => unit.repeat(times)),
)

const byKind: Readonly<Record<DescribedParameter['kind'], Text>> = {
  integer,
  id: anyId,
  ids: idList,
  date,
  text: fc.string({ maxLength: 20 }).map(encode),
}

const zoneOffsets = fc.constantFrom('Z', '+11:00', '-05:00')
const goodInstant = fc
  .tuple(goodDay, fc.constantFrom('00:00:00', '23:59:59.999999', '12:30:00'), zoneOffsets)
  .map((parts) => encode(parts.join('T').replace(/T(?=[Z+-])/, '')))
const soundByKind: Readonly<Record<DescribedParameter['kind'], Text>> = {
  integer: fc
    .oneof(fc.integer({ min: 1, max: 250 }), fc.integer({ min: 1, max: 6000 }))
    .map(String),
  id: anyId,
  ids: idList,
  date: fc.oneof({ weight: 3, arbitrary: goodDay }, { weight: 1, arbitrary: goodInstant }),
  text: fc.constant('text'),
}

/** A value that is right for a parameter, ids aside: those must belong together. */
export function soundValueFor(parameter: DescribedParameter): Text {
  return soundByKind[parameter.kind]
}

/** A value for a parameter: mostly of its kind, sometimes of another, sometimes garbage. */
export function valueFor(parameter: DescribedParameter): Text {
  return fc.oneof(
    { weight: 14, arbitrary: byKind[parameter.kind] },
    { weight: 1, arbitrary: fc.oneof(...Object.values(byKind)) },
    { weight: 3, arbitrary: garbage },
    {
      weight: 1,
      arbitrary: byKind[parameter.kind].map((text) => text.replace(/[a-z0-9]/, encodeAll)),
    },
  )
}

export { garbage as garbageText }
