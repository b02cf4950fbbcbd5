# Speedup over one GPU against the number of nodes, one line per schedule.
#
#   gnuplot -e "csv='results/quickstart.csv'; out='results/quickstart'; name='quickstart'" \
#           plots/speedup.gp
#
# csv: what `steptime sweep -o` writes for a sweep over /cluster/nodes and, if it likes,
# /strategy/schedule/type. Writes out.svg and out.png.

set datafile separator comma
set datafile columnheaders
set datafile missing NaN  # a line goes on behind the rows of other schedules

head = system(sprintf("head -n 1 '%s'", csv))
has_schedules = strstrt(head, ",/strategy/schedule/type,") > 0
schedule(row) = has_schedules ? strcol("/strategy/schedule/type") : "simulated"

# Schedules and nodes in the order of the file; the nodes become the ticks.
schedules = ""
ticks = ""
note_schedule(s) = strstrt(schedules." ", " ".s." ") ? 0 : (schedules = schedules." ".s, 0)
note_nodes(n) = strstrt(ticks.",", sprintf(",\"%d\" %d,", n, n)) ? 0 \
                : (ticks = ticks.sprintf(",\"%d\" %d", n, n), 0)
stats csv using (note_schedule(schedule(0)) + note_nodes(column("/cluster/nodes"))) nooutput
stats csv using (column("/cluster/nodes")) name "nodes" nooutput
stats csv using (column("workers") / column("/cluster/nodes")) name "per_node" nooutput

# Okabe and Ito's palette, which colour-blind readers can tell apart; the point type helps print.
array colour[7] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
array mark[7] = [7, 9, 5, 13, 11, 15, 4]

# The speedup of a row, or nothing when the row is another schedule's.
of(s) = schedule(0) eq s ? column("speedup") : NaN

set logscale x 2
set xrange [nodes_min / 1.15 : nodes_max * 1.15]
set yrange [0 : *]
eval "set xtics (".ticks[2:*].")"
set xlabel per_node_max > 1 ? sprintf("nodes (of %d GPUs each)", per_node_max) : "nodes" offset 0, -0.3
set ylabel "speedup over one GPU (times)" offset -0.5, 0
set title sprintf("Speedup with the number of nodes: %s", name) noenhanced
set border 3 linewidth 1 linecolor rgb "#444444"
set tics nomirror out scale 0.6
set grid ytics linewidth 0.6 linecolor rgb "#DDDDDD"
set key top left Left reverse samplen 2.5 spacing 1.25 width 1

do for [kind in "png svg"] {
  if (kind eq "png") {
    set terminal pngcairo size 1200, 800 font "DejaVu Sans,17" linewidth 1.8 background rgb "white"
  } else {
    set terminal svg size 800, 533 font "DejaVu Sans,14" linewidth 1.4 background rgb "white"
  }
  set output out.".".kind
  # Straight from node to node like the others: on these axes the true curve would pass below them.
  plot csv using (column("/cluster/nodes")):(column("workers")) smooth unique \
         with lines dashtype 2 linewidth 0.9 linecolor rgb "#888888" title "ideal", \
       for [i = 1 : words(schedules)] csv using (column("/cluster/nodes")):(of(word(schedules, i))) \
         with linespoints linewidth 1.4 linecolor rgb colour[1 + (i - 1) % 7] \
         pointtype mark[1 + (i - 1) % 7] pointsize 1.1 title word(schedules, i) noenhanced
  unset output
}
