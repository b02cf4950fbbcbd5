# Test accuracy against simulated time, one line per training mode.
#
#   gnuplot -e "folder='results'; modes='mpi-SGD mpi-ESGD'; out='results/accuracy'" plots/accuracy.gp
#
# folder: holds MODE.accuracy.csv for every mode, as `steptime run --set /name=MODE -o` writes it; the
# line is the first seed's. Writes out.svg and out.png.

set datafile separator comma
set datafile columnheaders

# Okabe and Ito's palette, which colour-blind readers can tell apart; the point type helps print.
array colour[7] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
array mark[7] = [7, 9, 5, 13, 11, 15, 4]

file(m) = sprintf("%s/%s.accuracy.csv", folder, m)
stats file(word(modes, 1)) using (column("seed")) name "seed" nooutput

set logscale x
set yrange [0 : 1]
set xlabel "simulated time (s)"
set ylabel "accuracy on test images"
set title "Accuracy against simulated time"
set key right bottom
set grid ytics linecolor "#dddddd"
set border 3
set tics nomirror

do for [terminal in "svg png"] {
  eval sprintf("set terminal %s size 800, 480 enhanced", terminal eq "svg" ? "svg" : "pngcairo")
  set output sprintf("%s.%s", out, terminal)
  plot for [i=1:words(modes)] file(word(modes, i)) \
       using (column("seed") == seed_min && column("time_s") > 0 ? column("time_s") : NaN):(column("accuracy")) \
       with linespoints linecolor rgb colour[i] pointtype mark[i] pointsize 0.5 pointinterval 8 linewidth 2 \
       title word(modes, i)
}
