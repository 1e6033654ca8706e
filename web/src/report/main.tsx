import 'uplot/dist/uPlot.min.css'
import '../style/base.css'
import '../style/frame.css'
import '../style/parts.css'
import '../style/charts.css'
import '../style/report.css'
import { render } from 'preact'
import { applyTheme } from '../theme'
import type { ReportData } from './data'
import { Report } from './page'

applyTheme()
const data: ReportData = JSON.parse(document.getElementById('data')!.textContent!)
render(<Report data={data} />, document.getElementById('app')!)
