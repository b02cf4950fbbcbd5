# Step time of a sweep over one or two axes, with the interval of each point.
#
#   gnuplot -e "csv='results/x.csv'; out='results/x'; name='x'" plots/sweep.gp
#
# csv: what `steptime sweep -o` writes. The axis with most values is the x axis (on a log scale where its
# numbers span a factor of 8, evenly where they are no numbers), the other one tells the lines apart.
# Writes out.svg and out.png.

set datafile separator comma
set datafile columnheaders
set datafile missing NaN

# The axes are the columns behind "point"; values in the order of the file.
head = system(sprintf("head -n 1 '%s'", csv))
axes = 0
do for [i = 2 : 4] { if (axes == i - 2 && word(system(sprintf("echo '%s' | cut -d, -f%d", head, i)), 1)[1:1] eq "/") { axes = i - 1 } }
array A[1000]
array B[1000]
na = 0
nb = 0
place_a(s) = sum [k = 1 : na] (A[k] eq s ? k : 0)
place_b(s) = sum [k = 1 : nb] (B[k] eq s ? k : 0)
note_a(s) = place_a(s) > 0 ? 0 : (na = na + 1, A[na] = s, 0)
note_b(s) = place_b(s) > 0 ? 0 : (nb = nb + 1, B[nb] = s, 0)
stats csv using (note_a(strcol(2)) + note_b(axes > 1 ? strcol(3) : "")) nooutput
along_a = axes == 1 || na >= nb
pointer = system(sprintf("echo '%s' | cut -d, -f%d", head, along_a ? 2 : 3))
n = along_a ? na : nb
lines = along_a ? nb : na
name_at(k) = along_a ? A[k] : B[k]
line_name(k) = along_a ? B[k] : A[k]
place(x) = along_a ? place_a(strcol(2)) : place_b(strcol(3))
of(k) = (along_a ? (axes > 1 ? place_b(strcol(3)) : 1) : place_a(strcol(2))) == k

# A number as it stands; anything else, and a quantity with its unit, at its place in the file.
is_number(s) = (sprintf("%g", real(s)) eq s || sprintf("%d", int(real(s))) eq s)
numbers = 1
do for [k = 1 : n] { if (!is_number(name_at(k))) { numbers = 0 } }
at(k) = numbers ? real(name_at(k)) : k
x(unused) = at(place(0))
least = at(1)
most = at(1)
ticks = ""
do for [k = 1 : n] {
  least = at(k) < least ? at(k) : least
  most = at(k) > most ? at(k) : most
  ticks = ticks.sprintf("%s\"%s\" %.17g", k > 1 ? "," : "", name_at(k), at(k))
}

# Okabe and Ito's palette, which colour-blind readers can tell apart; the point type helps print.
array colour[7] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
array mark[7] = [7, 9, 5, 13, 11, 15, 4]
shown = lines < 7 ? lines : 7

if (numbers && least > 0 && most >= 8 * least) {
  set logscale x 2
  set xrange [least / 1.15 : most * 1.15]
  shift(k) = 1.015 ** (k - (shown + 1) / 2.)
  moved(k) = x(0) * shift(k)
} else {
  gap = most > least ? (most - least) * 0.06 : 1
  set xrange [least - gap : most + gap]
  moved(k) = x(0) + (most - least) * 0.004 * (k - (shown + 1) / 2.)
}
set yrange [0 : *]
eval "set xtics (".ticks.")"
set xlabel pointer noenhanced
set ylabel "step time (ms) with its 95 % interval" offset -0.5, 0
set title name noenhanced
set border 3 linewidth 1 linecolor rgb "#444444"
set tics nomirror out scale 0.6
set xtics noenhanced
set grid ytics linewidth 0.6 linecolor rgb "#DDDDDD"
set key top left Left reverse samplen 2.5 spacing 1.25 width 1

do for [kind in "png svg"] {
  if (kind eq "png") {
    set terminal pngcairo size 1200, 800 font "DejaVu Sans,17" linewidth 1.8 background rgb "white"
  } else {
    set terminal svg size 800, 533 font "DejaVu Sans,14" linewidth 1.4 background rgb "white"
  }
  set output out.".".kind
  plot for [k = 1 : shown] csv using (of(k) ? moved(k) : NaN):(column("step_time_s") * 1e3):(column("step_time_low_s") * 1e3):(column("step_time_high_s") * 1e3) \
         with yerrorbars linewidth 0.8 linecolor rgb colour[k] pointtype 0 notitle, \
       for [k = 1 : shown] csv using (of(k) ? moved(k) : NaN):(column("step_time_s") * 1e3) \
         with linespoints linewidth 1.4 linecolor rgb colour[k] pointtype mark[k] pointsize 1.1 \
         title line_name(k) noenhanced
  unset output
}
