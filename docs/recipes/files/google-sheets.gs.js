/**
 * Transactions of Tributary in a Google sheet. Script properties (Project settings): TRIBUTARY_BASE_URL, TRIBUTARY_API_KEY,
 * CONNECTION_ID, ACCOUNT_ID. Run `syncTransactions`, or give it a daily trigger. Rows are known by their id: what is there is
 * updated, what is new is added below, and nothing is removed.
 */

var COLUMNS = ['id', 'date', 'amount', 'description', 'merchantName', 'category']
var SHEET_NAME = 'Transactions'
var DAYS = 90

function syncTransactions() {
  var rows = readAll_()
  var sheet = openSheet_()
  var known = {}
  var count = sheet.getLastRow() - 1
  if (count > 0) {
    sheet
      .getRange(2, 1, count, 1)
      .getValues()
      .forEach((cells, index) => {
        known[cells[0]] = index + 2
      })
  }
  var added = []
  var zone = SpreadsheetApp.getActiveSpreadsheet().getSpreadsheetTimeZone()
  rows.forEach((row) => {
    var cells = COLUMNS.map((name) => toCell_(name, row[name], zone))
    var line = known[row.id]
    if (line === undefined) added.push(cells)
    else sheet.getRange(line, 1, 1, cells.length).setValues([cells])
  })
  if (added.length > 0) {
    sheet.getRange(sheet.getLastRow() + 1, 1, added.length, COLUMNS.length).setValues(added)
  }
}

/**
 * Amounts are written as numbers and days as dates, because a sheet reads texts by the rules of its own language: 12.50 is a
 * day in German. Other texts have an apostrophe before them, which the sheet does not show: no number or formula is made of them.
 */
function toCell_(name, value, zone) {
  if (value === null || value === undefined || value === '') return ''
  if (name === 'amount') return Number(value)
  if (name === 'date') return Utilities.parseDate(value, zone, 'yyyy-MM-dd')
  return "'" + value
}

function openSheet_() {
  var book = SpreadsheetApp.getActiveSpreadsheet()
  var sheet = book.getSheetByName(SHEET_NAME) || book.insertSheet(SHEET_NAME)
  if (sheet.getLastRow() === 0) sheet.getRange(1, 1, 1, COLUMNS.length).setValues([COLUMNS])
  return sheet
}

function readAll_() {
  var settings = PropertiesService.getScriptProperties()
  var from = new Date(Date.now() - DAYS * 86400000).toISOString().slice(0, 10)
  var path =
    settings.getProperty('TRIBUTARY_BASE_URL') +
    '/v1/transactions?connectionId=' +
    settings.getProperty('CONNECTION_ID') +
    '&accountId=' +
    settings.getProperty('ACCOUNT_ID') +
    '&from=' +
    from +
    '&limit=500&offset='
  var rows = []
  var offset = 0
  // Only hasMore says when to stop: a page may be shorter than its limit, or empty.
  for (var page = 0; page < 1000; page += 1) {
    var answer = ask_(path + offset, settings.getProperty('TRIBUTARY_API_KEY'))
    rows = rows.concat(answer.data)
    if (!answer.pagination.hasMore) return rows
    offset = answer.pagination.offset + answer.pagination.limit
  }
  throw new Error('there are more than 1,000 pages')
}

function ask_(url, key) {
  for (var attempt = 1; ; attempt += 1) {
    var response = UrlFetchApp.fetch(url, {
      headers: { Authorization: 'Bearer ' + key },
      muteHttpExceptions: true,
      followRedirects: false,
    })
    var status = response.getResponseCode()
    if (status === 200) return JSON.parse(response.getContentText())
    var wait = Number(headerOf_(response, 'retry-after'))
    if ((status !== 429 && status !== 503) || attempt === 4 || !(wait <= 60)) {
      throw new Error(
        'Tributary answered ' + status + ': ' + response.getContentText().slice(0, 300),
      )
    }
    Utilities.sleep(wait * 1000)
  }
}

function headerOf_(response, name) {
  var headers = response.getHeaders()
  return headers[Object.keys(headers).find((key) => key.toLowerCase() === name)]
}
